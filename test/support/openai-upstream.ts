import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'
import { allowOnly, Refused, usualCounts, vendorDouble, type Spoken } from './spoken.ts'

type Body = Record<string, unknown>

export const openAiKey = 'sk-proj-0123456789abcdef'

const invalid = 'invalid_request_error'
const fields = [
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'n',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'response_format',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning_effort',
  'verbosity',
  'service_tier',
  'stream',
  'stream_options',
  'store',
  'metadata',
  'user',
  'prompt_cache_key',
  'safety_identifier',
]
const messageFields = ['role', 'content', 'name', 'refusal', 'tool_calls', 'tool_call_id', 'audio']
const sampling = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'logprobs']
const reasons = /^(?:o\d|gpt-[5-9])/

/** Plays OpenAI: refuses what the vendor refuses, in its words, and says the rest. */
export function openAiDouble(
  say: (body: Body) => Spoken,
): (request: ReceivedRequest) => ScriptedAnswer {
  return vendorDouble({
    check,
    refusal: ({ type, message }) => ({
      error: { message, type: invalid, param: null, code: type },
    }),
    answer: (request) => {
      const body = request.body as Body
      const spoken = say(body)
      if (body['stream'] === true) return { pieces: openAiEvents(spoken, body) }
      return { body: completion(spoken, body) }
    },
  })
}

function check({ path, method, headers, body }: ReceivedRequest): void {
  const refuse: Refuse = (code, text) => {
    throw new Refused(400, code, text)
  }
  if (method !== 'POST' || path !== '/chat/completions') throw new Refused(404, 'not_found', path)
  if (headers.authorization !== `Bearer ${openAiKey}`) {
    throw new Refused(401, 'invalid_api_key', 'Incorrect API key provided.')
  }
  allowOnly(body, fields, 'Unrecognized request argument supplied', 'unknown_parameter')
  if (reasons.test(String(body['model']))) {
    if (body['max_tokens'] !== undefined) {
      refuse('unsupported_parameter', "Use 'max_completion_tokens' instead.")
    }
    const refused = sampling.find((name) => body[name] !== undefined)
    if (refused !== undefined && body['reasoning_effort'] !== 'none') {
      refuse('unsupported_value', `Unsupported value: '${refused}'.`)
    }
  }
  for (const tool of (body['tools'] ?? []) as Body[]) {
    allowOnly(tool, ['type', 'function'], 'Unknown parameter: tools', 'unknown_parameter')
  }
  checkReasoning(body, refuse)
  const calls = new Set<unknown>()
  for (const message of body['messages'] as Body[]) {
    allowOnly(message, messageFields, 'Unknown parameter: messages', 'unknown_parameter')
    if (message['role'] === 'assistant') checkAnswer(message, refuse)
    for (const part of Array.isArray(message['content']) ? (message['content'] as Body[]) : []) {
      const type = String(part['type'])
      allowOnly(part, ['type', type], 'Unknown parameter: messages.content', 'unknown_parameter')
    }
    for (const call of (message['tool_calls'] ?? []) as Body[]) {
      allowOnly(call, ['id', 'type', 'function'], 'Unknown parameter: tool_calls', 'unknown')
      calls.add(call['id'])
    }
    if (message['role'] === 'tool' && !calls.has(message['tool_call_id'])) {
      refuse('invalid_value', "messages with role 'tool' must be a response to tool_calls.")
    }
  }
}

/** As the vendor's errors of 2026 have it. */
function checkReasoning({ model, tools, reasoning_effort: effort }: Body, refuse: Refuse): void {
  const name = String(model)
  const generation = Number(/^gpt-(\d+(?:\.\d+)?)/.exec(name)?.[1] ?? 0)
  const lacking = new Set(
    generation >= 6
      ? ['minimal', ...(/^gpt-6(?:-sol|-luna|\.1-terra)/.test(name) ? [] : ['none'])]
      : generation > 5
        ? ['minimal', 'max']
        : ['none', 'xhigh', 'max'],
  )
  if (typeof effort === 'string' && lacking.has(effort)) {
    refuse('unsupported_value', `'reasoning_effort' does not support '${effort}' with this model.`)
  }
  if (!Array.isArray(tools) || tools.length === 0 || generation < 5.4 || effort === 'none') return
  if (generation < 5.6 && (effort === undefined || effort === null)) return
  refuse('unsupported_value', `Function tools with reasoning_effort are not supported for ${name}.`)
}

function checkAnswer({ content, tool_calls: calls, refusal }: Body, refuse: Refuse): void {
  const parts = Array.isArray(content) ? (content as Body[]) : []
  const shows = parts.some(({ type }) => type !== 'text' && type !== 'refusal')
  if (shows) refuse('invalid_value', "Invalid value: 'image_url'.")
  if (!content && !refusal && !calls) refuse('invalid_type', "Invalid value for 'content'.")
}

type Refuse = (code: string, text: string) => void

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

/** The events of a streamed answer, as the vendor writes them. */
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
