import type { ChatRequest } from './chat.ts'

/** Whether a field has OpenAI's default value, so that leaving it out changes nothing. */
export function hasDefaultValue(field: string, value: unknown): boolean {
  if (value === null || value === undefined) return true
  if (defaults.has(field)) return defaults.get(field) === value
  if (field === 'service_tier') return value === 'auto' || value === 'default'
  if (field === 'modalities') return Array.isArray(value) && value.every((one) => one === 'text')
  if (field !== 'response_format') return isEmptyField(field, value)
  return typeof value === 'object' && 'type' in value && value.type === 'text'
}

const defaults: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...['logprobs', 'store', 'stream'].map((field) => [field, false] as const),
  ...['temperature', 'top_p', 'n'].map((field) => [field, 1] as const),
  ...['presence_penalty', 'frequency_penalty', 'top_logprobs'].map((field) => [field, 0] as const),
  ['parallel_tool_calls', true],
  ['verbosity', 'medium'],
])

/** Fields that clients send empty instead of leaving them out. */
const mayBeEmpty: ReadonlySet<string> = new Set([
  'functions',
  'logit_bias',
  'metadata',
  'stop',
  'stream_options',
  'tools',
  'user',
])

/**
 * Removes empty fields, and tool options of a request without tools: many vendors refuse them. A forced
 * tool choice stays, so that the error can name the missing tool.
 */
export function withoutEmpty(request: ChatRequest): ChatRequest {
  const hasTools = request.tools != null && request.tools.length > 0
  const isSuperfluous = ([name, value]: [string, unknown]) => {
    if (isEmptyField(name, value)) return true
    if (hasTools) return false
    return name === 'tool_choice'
      ? value === 'auto' || value === 'none'
      : name === 'parallel_tool_calls'
  }
  const fields = Object.entries(request)
  if (!fields.some(isSuperfluous)) return request
  // The cast is safe: only optional fields were removed.
  return Object.fromEntries(fields.filter((field) => !isSuperfluous(field))) as ChatRequest
}

function isEmptyField(field: string, value: unknown): boolean {
  if (!mayBeEmpty.has(field)) return false
  // An empty `stop` string is reported as a mistake; an empty list is valid.
  if (typeof value === 'string') return value === '' && field !== 'stop'
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
