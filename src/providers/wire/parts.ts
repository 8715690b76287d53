import type { components } from '../../../generated/types.ts'
import { jsonObject } from '../../core/any-json.ts'
import type { Model, Problem, Warning } from '../../core/model.ts'
import type { FunctionMessage } from './function-tools.ts'

type Schemas = components['schemas']
export type Message = FunctionMessage
type Part = Exclude<Schemas['ContentPart'], Schemas['RefusalPart']>
/** A part with its path for errors. */
export type PlacedPart = { part: Part; param: string }
export type PlacedText = { part: Schemas['TextPart']; param: string }

/** The parts of a message, a refusal as text, without empty texts, which vendors reject. */
export function partsOf(message: Message, path: string): PlacedPart[] {
  const { content } = message
  const param = `${path}.content`
  if (!Array.isArray(content)) return textPart(content ?? refusalOf(message), param)
  return content.flatMap((part, place) => {
    const param = `${path}.content[${place}]`
    if (part.type === 'refusal') return textPart(part.refusal, param)
    return part.type === 'text' && part.text === '' ? [] : [{ part, param }]
  })
}

function textPart(text: string, param: string): PlacedPart[] {
  return text === '' ? [] : [{ part: { type: 'text', text }, param }]
}

function refusalOf(message: Message): string {
  return message.role === 'assistant' ? (message.refusal ?? '') : ''
}

/** The texts of a message that must contain only text; other parts are problems with `remedy`. */
export function onlyTexts(
  message: Message,
  path: string,
  problems: Problem[],
  remedy: string,
): PlacedText[] {
  return partsOf(message, path).flatMap(({ part, param }) => {
    if (part.type === 'text') return { part, param }
    problems.push({ param, message: remedy })
    return []
  })
}

/** The texts of a system or developer message; other parts are problems. */
export function instructionsOf(message: Message, path: string, problems: Problem[]): PlacedText[] {
  const remedy = 'Instructions must be text. Move this part to a user message.'
  return onlyTexts(message, path, problems, remedy)
}

/** The warning for a conversation of instructions only, which is sent as a user message. */
export function instructionsAlone(vendor: string): Warning {
  const reason = `${vendor} requires a user message, so the instructions were sent as one.`
  return { param: 'messages', requested: 'system', applied: 'user', reason }
}

/** The warning for instructions within a conversation, which move to its beginning. */
export function hoisted(vendor: string, param: string, role: string): Warning {
  const reason = `${vendor} reads instructions before the conversation, not within it.`
  return { param, requested: role, applied: 'system', reason }
}

/** The arguments of a call as an object, `{}` for an empty text; any other JSON or text is a problem. */
export function argumentsOf(
  { function: { arguments: text } }: Schemas['FunctionToolCall'],
  path: string,
  problems: Problem[],
): Record<string, unknown> | undefined {
  const found = text.trim() === '' ? {} : jsonObject(text)
  if (found !== undefined) return found
  const message = 'The arguments are not a JSON object.'
  problems.push({ param: `${path}.function.arguments`, message, code: 'invalid_value' })
  return undefined
}

/** Problems of a conversation that ends with an answer of the assistant. */
export function answerAtEnd(messages: readonly Message[], { row }: Model): Problem[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const empty = messages.findIndex(({ role }, index) => index > at && role === 'user')
  if (empty >= 0) {
    const message = 'The last user message is empty. Give it a text.'
    return [{ param: `messages[${empty}].content`, message, code: 'invalid_value' }]
  }
  if (row.capabilities['prefill'] !== false) return []
  const message = `${row.id} cannot continue an answer. End with a user or tool message.`
  return [{ param: `messages[${at}]`, message }]
}
