import type { Body } from './closed-chat/schema.ts'
import { checkSent } from './closed-chat/vendors.ts'
import { responseEvents, responseObject } from './responses-upstream.ts'
import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'
import { allowOnly, Refused, usualCounts, vendorDouble, type Spoken } from './spoken.ts'

export const openAiKey = 'sk-proj-0123456789abcdef'

const invalid = 'invalid_request_error'

/**
 * Simulates OpenAI: refuses invalid requests with the vendor's errors, and answers valid ones with
 * `say`.
 *
 * @example
 * upstream.answer(openAiDouble(() => ({ text: ['Hel', 'lo.'] })))
 */
export function openAiDouble(
  say: (body: Body) => Spoken,
): (request: ReceivedRequest) => ScriptedAnswer {
  return vendorDouble({
    check: (request) => check(countedCall(request)),
    refusal: ({ type, message }) => ({
      error: { message, type: invalid, param: null, code: type },
    }),
    answer: (request) => {
      const body = request.body as Body
      const spoken = say(body)
      if (request.path === countPath) {
        const { input } = spoken.counts ?? usualCounts
        return { body: { object: 'response.input_tokens', input_tokens: input } }
      }
      if (request.path === '/responses') {
        if (body['stream'] === true) return { pieces: responseEvents(spoken, body) }
        return { body: responseObject(spoken, body) }
      }
      if (body['stream'] === true) return { pieces: openAiEvents(spoken, body) }
      return { body: completion(spoken, body) }
    },
  })
}

const countPath = '/responses/input_tokens'
const countedFields = [
  'input',
  'instructions',
  'model',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'truncation',
]

/** What each call of the gateway has besides. */
const asCall = { store: false, include: ['reasoning.encrypted_content'] }

/** The call whose input is counted; the request itself if it is a call. */
function countedCall(request: ReceivedRequest): ReceivedRequest {
  if (request.path !== countPath) return request
  allowOnly(request.body, countedFields, 'Unknown parameter', invalid)
  return { ...request, path: '/responses', body: { ...request.body, ...asCall } }
}

function check({ path, method, headers, body }: ReceivedRequest): void {
  const isResponses = path === '/responses'
  if (method !== 'POST' || !(isResponses || path === '/chat/completions')) {
    throw new Refused(404, 'not_found', path)
  }
  if (headers.authorization !== `Bearer ${openAiKey}`) {
    throw new Refused(401, 'invalid_api_key', 'Incorrect API key provided.')
  }
  if (isResponses !== 'input' in (body as Body)) throw new Refused(400, invalid, 'input')
  checkSent('openai', body as Body)
}

function messageOf({ text, reasoning, calls = [] }: Spoken) {
  return {
    role: 'assistant',
    content: text === undefined ? null : text.join(''),
    refusal: null,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning.join('') }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, args }) => ({
            id,
            type: 'function',
            function: { name, arguments: JSON.stringify(args) },
          })),
        }),
  }
}

function usageOf(counts = usualCounts) {
  const { input, output, cached = 0, written, reasoning = 0 } = counts
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cached,
      ...(written === undefined ? {} : { cache_write_tokens: written }),
    },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}

const identity = { id: 'chatcmpl-up', created: 1_767_225_600 }

function completion(spoken: Spoken, { model }: Body) {
  const choice = { index: 0, message: messageOf(spoken), finish_reason: spoken.end ?? 'stop' }
  const usage = usageOf(spoken.counts)
  return { ...identity, object: 'chat.completion', model, choices: [choice], usage }
}

/** Events of a streamed answer, in the vendor's format. */
export function openAiEvents(spoken: Spoken, body: Body): string[] {
  const { text = [], reasoning = [], calls = [], end = 'stop', counts } = spoken
  const counted = (body['stream_options'] as Body | undefined)?.['include_usage'] === true
  const chunk = (members: object) => {
    const { model } = body
    const whole = { ...identity, object: 'chat.completion.chunk', model, ...members }
    return `data: ${JSON.stringify(counted ? { usage: null, ...whole } : whole)}\n\n`
  }
  const choice = (delta: object, finish: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason: finish }] })
  return [
    choice({ role: 'assistant', content: '' }),
    ...reasoning.map((reasoning_content) => choice({ reasoning_content })),
    ...text.map((content) => choice({ content })),
    ...calls.flatMap(({ id, name, args }, index) => [
      choice({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      choice({ tool_calls: [{ index, function: { arguments: JSON.stringify(args) } }] }),
    ]),
    choice({}, end),
    ...(counted ? [chunk({ choices: [], usage: usageOf(counts) })] : []),
    'data: [DONE]\n\n',
  ]
}
