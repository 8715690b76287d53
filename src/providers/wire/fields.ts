import type { ChatRequest } from '../../core/chat/chat.ts'
import type { Problem, Warning } from '../../core/model.ts'

/** What a vendor's format cannot express. */
export type Notes = { problems: Problem[]; warnings: Warning[] }
/** A request in a vendor's format. */
export type WrittenChat<Body> = Notes & { body: Body }

/** Whether a field has its default value, so that leaving it out changes nothing. */
export function isIdle(field: keyof ChatRequest, value: unknown): boolean {
  if (value === null || value === undefined) return true
  switch (field) {
    case 'logprobs':
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
    case 'logit_bias':
      return Object.keys(value).length === 0
    case 'stop':
      return Array.isArray(value) && value.length === 0
    default:
      return false
  }
}

/** An instruction to answer in JSON, for models that cannot enforce it. */
export function jsonInWords(schema: object | undefined): string {
  if (schema === undefined) {
    return 'Answer with one JSON object and nothing else, without a code fence around it.'
  }
  const text = JSON.stringify(schema)
  return `Answer with one JSON value and nothing else, without a code fence around it. It is valid against this JSON Schema: ${text}`
}
