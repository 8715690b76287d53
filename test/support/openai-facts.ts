import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js'
import { readEvents } from './event-stream.ts'
import { imageStreamComplaints } from './openai-image-events.ts'

/**
 * Requirements on answers in OpenAI's API, typed in on 2026-11-22 and independent of our contract. Source:
 * https://github.com/openai/openai-openapi, `openapi.yaml` of 2026-08-21, the named schemas. Other members are
 * allowed.
 */
const text = { type: 'string' }
const name = { type: 'string', minLength: 1 }
const count = { type: 'integer', minimum: 0 }
const nullable = (type: string) => ({ type: [type, 'null'] })
const object = (required: Record<string, AnySchema>, optional: Record<string, AnySchema> = {}) => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
})
const list = (items: AnySchema) => ({ type: 'array', items })

/** `CompletionUsage`. */
const usage = object(
  { prompt_tokens: count, completion_tokens: count, total_tokens: count },
  {
    prompt_tokens_details: { type: 'object' },
    completion_tokens_details: { type: 'object' },
  },
)
/** `ChatCompletionMessageToolCall` and `ChatCompletionMessageCustomToolCall`. */
const call = {
  anyOf: [
    object({ id: name, type: { const: 'function' }, function: object({ name, arguments: text }) }),
    object({ id: name, type: { const: 'custom' }, custom: object({ name, input: text }) }),
  ],
}
const reasons = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call']
/** `ServiceTier` and `system_fingerprint`. `ServiceTier` may be null. */
const beside = {
  service_tier: { enum: ['auto', 'default', 'flex', 'scale', 'priority', 'fast', null] },
  system_fingerprint: text,
}
const said = { annotations: { type: 'array' }, function_call: { type: 'object' } }
/** `CreateChatCompletionResponse`, its `choices`, and `ChatCompletionResponseMessage`. */
const completion = object(
  {
    id: name,
    object: { const: 'chat.completion' },
    created: count,
    model: name,
    choices: {
      ...list(
        object({
          index: count,
          finish_reason: { enum: reasons },
          logprobs: nullable('object'),
          message: object(
            {
              role: { const: 'assistant' },
              content: nullable('string'),
              refusal: nullable('string'),
            },
            { tool_calls: { ...list(call), minItems: 1 }, ...said },
          ),
        }),
      ),
      minItems: 1,
    },
  },
  { usage, ...beside },
)
/** `ChatCompletionMessageToolCallChunk`. */
const callPiece = object(
  { index: count },
  {
    id: name,
    type: { enum: ['function', 'custom'] },
    function: object({}, { name, arguments: text }),
  },
)
/** `CreateChatCompletionStreamResponse`, its `choices`, and `ChatCompletionStreamResponseDelta`. */
const chunk = object(
  {
    id: name,
    object: { const: 'chat.completion.chunk' },
    created: count,
    model: name,
    choices: list(
      object(
        {
          index: count,
          finish_reason: { enum: [...reasons, null] },
          delta: object(
            {},
            {
              role: { const: 'assistant' },
              content: nullable('string'),
              refusal: nullable('string'),
              tool_calls: { ...list(callPiece), minItems: 1 },
              ...said,
            },
          ),
        },
        { logprobs: nullable('object') },
      ),
    ),
  },
  { usage: { anyOf: [usage, { type: 'null' }] }, ...beside },
)
/** `ErrorResponse` and `Error`. */
const failure = object({
  error: object({ message: name, type: text, param: nullable('string'), code: nullable('string') }),
})
/** `ImagesResponse` and `Image`. */
const images = object(
  { created: count },
  { data: list(object({}, { b64_json: text, url: text, revised_prompt: text })) },
)
/** `Model` and `ListModelsResponse`. */
const model = object({ id: name, object: { const: 'model' }, created: count, owned_by: text })
const models = object({ object: { const: 'list' }, data: list(model) })

const ajv = new Ajv2020({ strict: false, allErrors: true })
const checks = {
  completion: ajv.compile(completion),
  chunk: ajv.compile(chunk),
  failure: ajv.compile(failure),
  images: ajv.compile(images),
  model: ajv.compile(model),
  models: ajv.compile(models),
}

/** Schemas of answers with status 200, by path. */
const answers: readonly (readonly [RegExp, keyof typeof checks])[] = [
  [/^\/v1\/chat\/completions$/, 'completion'],
  [/^\/v1\/images\/(?:generations|edits)$/, 'images'],
  [/^\/v1\/models$/, 'models'],
  [/^\/v1\/models\/.+$/, 'model'],
]

type Received = { status: number; type: string; text: string }

/** Whether OpenAI's API has this path. Only answers on such paths can be checked. */
export function isOpenAiPath(path: string): boolean {
  return answers.some(([pattern]) => pattern.test(path))
}

/** Violations of OpenAI's API in an answer; empty when it complies. */
export function openAiComplaints(path: string, { status, type, text: body }: Received): string[] {
  if (type.startsWith('text/event-stream'))
    return path.startsWith('/v1/images/')
      ? imageStreamComplaints(path, body)
      : streamComplaints(body)
  if (!type.startsWith('application/json')) return []
  const kind = answers.find(([pattern]) => pattern.test(path))?.[1]
  if (kind === undefined) return []
  return complaintsOf(status < 400 ? checks[kind] : checks.failure, JSON.parse(body))
}

type Piece = { index: number; id?: string; type?: string; function?: { name?: string } }
type Chunk = {
  id: string
  choices: {
    index: number
    delta: { role?: string; tool_calls?: Piece[] }
    finish_reason: unknown
  }[]
}

/** Checks each event, and the whole stream: roles, starts of calls, finish reasons. */
function streamComplaints(body: string): string[] {
  const events = readEvents(body).filter(({ data }) => data !== undefined)
  const found: string[] = []
  const begun = new Set<string>()
  const finished = new Set<number>()
  const ids = new Set<string>()
  for (const { name: kind, data } of events) {
    if (data === '[DONE]') continue
    const parsed: unknown = JSON.parse(data!)
    if (kind !== undefined && kind !== 'error') found.push(`OpenAI has no event '${kind}'.`)
    const wrong = complaintsOf(kind === 'error' ? checks.failure : checks.chunk, parsed)
    found.push(...wrong)
    if (kind === 'error' || wrong.length > 0) continue
    const { id, choices } = parsed as Chunk
    ids.add(id)
    for (const { index, delta, finish_reason: reason } of choices) {
      if (begun.has(`${index}`) !== (delta.role === undefined))
        found.push(`Choice ${index} has no role, or two.`)
      if (finished.has(index)) found.push(`Choice ${index} goes on after its end.`)
      begun.add(`${index}`)
      if (reason !== null) finished.add(index)
      for (const piece of delta.tool_calls ?? []) {
        const whole = piece.id !== undefined && piece.type !== undefined
        const isFirst = !begun.has(`${index}.${piece.index}`)
        if (isFirst && !whole) found.push(`Call ${piece.index} begins without its id or type.`)
        begun.add(`${index}.${piece.index}`)
      }
    }
  }
  if (ids.size > 1) found.push('The chunks have several ids.')
  // Requires a finish reason only with an end mark, since a stream that a test aborts has neither.
  if (events.at(-1)?.data === '[DONE]' && finished.size === 0) found.push('No choice has an end.')
  if (/^(?:id|retry):|\r|^\uFEFF/m.test(body)) found.push('A line is not in the format of OpenAI.')
  return found
}

function complaintsOf(check: ValidateFunction, value: unknown): string[] {
  if (check(value)) return []
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
