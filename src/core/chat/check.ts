import { GatewayError } from '../error.ts'
import { makesImages, type Model, type Problem } from '../model.ts'
import type { ChatRequest } from './chat.ts'
import { schemaComplaint } from './json-schema.ts'

/** A generous upper bound: no tokenizer averages more characters per token on real text. */
const charactersPerTokenMax = 10

/** Throws a GatewayError for a conversation that no model can read. */
export function checkConversation({ messages, response_format: format }: ChatRequest): void {
  const called = new Set<string>()
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') {
      for (const { id } of message.tool_calls ?? []) called.add(id)
    }
    if (message.role !== 'tool' || called.has(message.tool_call_id)) continue
    throw new GatewayError(
      'invalid_value',
      `No assistant message before it has a tool call with the id '${message.tool_call_id.slice(0, 100)}'.`,
      { param: `messages[${index}].tool_call_id` },
    )
  }
  if (format?.type !== 'json_schema' || format.json_schema.schema === undefined) return
  const complaint = schemaComplaint(format.json_schema.schema)
  if (complaint === undefined) return
  throw new GatewayError('invalid_value', `This is not a JSON Schema: ${complaint}`, {
    param: 'response_format.json_schema.schema',
  })
}

/** What of a request the model cannot do, according to the catalog. */
export function modelProblems(request: ChatRequest, model: Model): Problem[] {
  if (model.undescribed) return []
  const { row } = model
  const problems: Problem[] = []
  if (!row.capabilities.chat || makesImages(model)) {
    problems.push({ param: 'model', message: `${row.id} does not converse. Choose another model.` })
  }
  if (!row.capabilities.tools && (request.tools ?? []).length > 0) {
    problems.push({ param: 'tools', message: `${row.id} calls no tools.` })
  }
  if (!row.capabilities.vision) {
    const param = firstPart(request, ['image_url'])
    if (param !== undefined) problems.push({ param, message: `${row.id} does not see images.` })
  }
  if (row.input_modalities.every((modality) => modality === 'text')) {
    const param = firstPart(request, ['file', 'input_audio'])
    if (param !== undefined) problems.push({ param, message: `${row.id} reads text alone.` })
  }
  problems.push(...lengthProblems(request, model))
  return problems
}

function firstPart({ messages }: ChatRequest, types: readonly string[]): string | undefined {
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue
    const part = content.findIndex(({ type }) => types.includes(type))
    if (part >= 0) return `messages[${index}].content[${part}]`
  }
  return undefined
}

function lengthProblems(request: ChatRequest, { row }: Model): Problem[] {
  const { context_window: window, max_output_tokens: outputMax } = row
  const param = request.max_completion_tokens != null ? 'max_completion_tokens' : 'max_tokens'
  const asked = request[param] ?? 0
  const problems: Problem[] = []
  if (outputMax !== undefined && asked > outputMax) {
    const message = `${row.id} writes at most ${outputMax} tokens.`
    problems.push({ param, message, code: 'invalid_value' })
  }
  if (window !== undefined && textLength(request) / charactersPerTokenMax > window) {
    const message = `The messages are longer than the ${window} tokens that ${row.id} can read.`
    problems.push({ param: 'messages', message, code: 'context_length_exceeded' })
  }
  return problems
}

function textLength({ messages }: ChatRequest): number {
  let length = 0
  for (const { content } of messages) {
    if (typeof content === 'string') length += content.length
    else for (const part of content ?? []) if ('text' in part) length += part.text.length
  }
  return length
}
