import type { components } from '../../../generated/types.ts'
import type { Model, Problem, Warning } from '../../core/model.ts'
import type { FunctionMessage } from './function-tools.ts'

type Schemas = components['schemas']
export type Message = FunctionMessage
type Part = Exclude<Schemas['ContentPart'], Schemas['RefusalPart']>
/** A part, and the path that names it in errors. */
export type PlacedPart = { part: Part; param: string }
export type PlacedText = { part: Schemas['TextPart']; param: string }

/** The parts of a message, a refusal as text. Empty texts, which vendors refuse, are left out. */
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

/** The texts of a message that may have only text; any other part is a problem with `remedy`. */
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

/** The texts of a system or developer message; any other part is a problem. */
export function instructionsOf(message: Message, path: string, problems: Problem[]): PlacedText[] {
  const remedy = 'Instructions are text. Move it to a message of the user.'
  return onlyTexts(message, path, problems, remedy)
}

/** The warning for a conversation of instructions only, which are sent as a user message. */
export function instructionsAlone(vendor: string): Warning {
  const reason = `${vendor} requires a message of the user: the instructions are sent as one.`
  return { param: 'messages', requested: 'system', applied: 'user', reason }
}

/** What is wrong with a conversation that comes to its vendor with an answer at its end. */
export function answerAtEnd(messages: readonly Message[], { row }: Model): Problem[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const silent = messages.findIndex(({ role }, index) => index > at && role === 'user')
  if (silent >= 0) {
    const message = 'The last message of the user says nothing. Give it a text.'
    return [{ param: `messages[${silent}].content`, message, code: 'invalid_value' }]
  }
  if (row.capabilities['prefill'] !== false) return []
  const message = `${row.id} does not go on with an answer. End with a message of the user or of a tool.`
  return [{ param: `messages[${at}]`, message }]
}
