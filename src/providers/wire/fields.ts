import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import { hasDefaultValue } from '../../core/chat/default-values.ts'
import { unlistedMembers } from '../../core/chat/unlisted.ts'
import { dropped, type Problem, type Warning } from '../../core/model.ts'

/** Problems and warnings about what a vendor's format cannot express. */
export type Notes = { problems: Problem[]; warnings: Warning[] }
/** A request in a vendor's format. */
export type WrittenChat<Body> = Notes & { body: Body }

/** Fields that all vendors with a format of their own receive in some form. */
const translatedFields: ReadonlySet<string> = new Set<keyof ChatRequest>([
  'model',
  'models',
  'messages',
  'temperature',
  'top_p',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'response_format',
  'tools',
  'tool_choice',
  'reasoning_effort',
  'stream',
  'stream_options',
  'cache_control',
  'web_search_options',
])

/**
 * Warns about everything that a vendor's own format cannot carry: fields that are neither translated for all
 * nor in `ownFields`, members that the contract does not list, and obfuscation of chunks.
 */
export function reportIgnored(
  request: ChatRequest,
  ownFields: readonly string[],
  vendor: string,
  { warnings }: Notes,
): void {
  const reason = `${vendor} has no such parameter.`
  for (const [field, value] of Object.entries(request)) {
    if (translatedFields.has(field) || ownFields.includes(field)) continue
    if (!hasDefaultValue(field, value)) warnings.push(dropped(field, value, reason))
  }
  for (const warning of unlistedMembers(request, reason)) warnings.push(warning)
  if (request.stream_options?.include_obfuscation === true) {
    warnings.push(dropped('stream_options.include_obfuscation', true, reason))
  }
  for (const [index, message] of request.messages.entries()) {
    if (message.role === 'tool' || message.name === undefined) continue
    warnings.push(
      dropped(
        `messages[${index}].name`,
        message.name,
        `${vendor} does not accept the name of a message's author.`,
      ),
    )
  }
}

/** The limit of output tokens; `max_completion_tokens` takes precedence over `max_tokens`. */
export function maxTokensOf(request: ChatRequest, { warnings }: Notes): number | undefined {
  const { max_tokens: old, max_completion_tokens: most } = request
  if (old != null && most != null && old !== most) {
    warnings.push(dropped('max_tokens', old, 'max_completion_tokens takes precedence.'))
  }
  return most ?? old ?? undefined
}

/** The stop sequences that a vendor accepts; warns about the others. */
export function stopsOf(
  { stop }: ChatRequest,
  refused: (stop: string) => string | undefined,
  { warnings }: Notes,
): string[] {
  return [stop ?? []].flat().filter((one, place) => {
    const reason = refused(one)
    if (reason === undefined) return true
    warnings.push(dropped(Array.isArray(stop) ? `stop[${place}]` : 'stop', one, reason))
    return false
  })
}

/** The schema of a structured answer, with the format's description. */
export function schemaOf(format: ChatRequest['response_format']): object | undefined {
  if (format?.type !== 'json_schema') return undefined
  const { description, schema } = format.json_schema
  if (description === undefined) return schema
  const own = schema?.['description']
  return {
    ...schema,
    description: typeof own === 'string' ? `${description}\n\n${own}` : description,
  }
}

/** An instruction to answer in JSON, for models without enforcement. */
export function jsonInWords(schema: object | undefined): string {
  if (schema === undefined) {
    return 'Answer with one JSON object and nothing else, without a code fence around it.'
  }
  const text = JSON.stringify(schema)
  return `Answer with one JSON value and nothing else, without a code fence around it. It is valid against this JSON Schema: ${text}`
}

const ascending: readonly ReasoningEffort[] = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
]

/** The closest effort that a model offers; of two equally close efforts, the higher effort. */
export function nearestEffort(
  offered: readonly ReasoningEffort[],
  wanted: ReasoningEffort,
): ReasoningEffort {
  const distance = (effort: ReasoningEffort) =>
    Math.abs(ascending.indexOf(effort) - ascending.indexOf(wanted))
  return offered.reduce((best, one) => (distance(one) <= distance(best) ? one : best))
}
