import type { ChatRequest } from './chat.ts'

/** Whether a field has OpenAI's default value, so that leaving it out changes nothing. */
export function hasDefaultValue(field: string, value: unknown): boolean {
  if (value === null || value === undefined) return true
  switch (field) {
    case 'logprobs':
    case 'store':
    case 'stream':
      return value === false
    case 'temperature':
    case 'top_p':
    case 'n':
      return value === 1
    case 'presence_penalty':
    case 'frequency_penalty':
    case 'top_logprobs':
      return value === 0
    case 'parallel_tool_calls':
      return value === true
    case 'service_tier':
      return value === 'auto' || value === 'default'
    case 'verbosity':
      return value === 'medium'
    case 'modalities':
      return Array.isArray(value) && value.every((modality) => modality === 'text')
    case 'response_format':
      return typeof value === 'object' && 'type' in value && value.type === 'text'
    default:
      return isEmptyField(field, value)
  }
}

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
