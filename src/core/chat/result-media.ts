import type { Problem, Warning } from '../model.ts'
import type { Route } from '../route.ts'
import type { ChatRequest } from './chat.ts'
import { hiddenPart, isMedium, mediumProblem, type Part } from './media.ts'

type Message = ChatRequest['messages'][number]
type Result = Extract<Message, { role: 'tool' }> & { content: Part[] }

/** Reasons why media in tool results are not shown to the model, by their parameters. */
type HiddenMedia = ReadonlyMap<string, string>

/** A conversation whose tool results have only media that the vendor accepts there. */
type PlacedMedia = {
  messages: Message[]
  /** A warning for each medium that is not shown. */
  warnings: Warning[]
  /** Maps parameters in warnings and problems back to those of the request. */
  asSent: <Note extends Problem | Warning>(notes: readonly Note[]) => Note[]
  /** The media of `refused` and those that the problems name; undefined if they name no shown medium. */
  hiddenFor: (problems: readonly Problem[]) => HiddenMedia | undefined
}

/**
 * Replaces media in tool results that the model cannot read, or that are `refused`, with a text: the caller cannot
 * change what its tool returned, so a refusal would end the conversation. The others are moved into a user message
 * after the results, unless the vendor accepts them there. Undefined when there are none.
 */
export function placeResultMedia(
  messages: readonly Message[],
  { model, provider }: Route,
  refused: HiddenMedia = new Map(),
): PlacedMedia | undefined {
  if (!messages.some(hasMedia)) return undefined
  /** Each message with its parameter and, if it was inserted, those of its parts. */
  const placed: { message: Message; params: string[] }[] = []
  const warnings: Warning[] = []
  const shown = new Set<string>()
  let moved: { part: Part; param: string }[] = []
  const putMoved = () => {
    const params = moved.map(({ param }) => param)
    const content = moved.map(({ part }) => part)
    const message = { role: 'user' as const, content }
    if (content.length > 0) placed.push({ message, params: [params[0]!, ...params] })
    moved = []
  }
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    if (message.role !== 'tool') putMoved()
    if (!hasMedia(message)) {
      placed.push({ message, params: [path] })
      continue
    }
    const title = `Output of the tool call ${message.tool_call_id}:`
    const content = message.content.map((part, place): Part => {
      if (!isMedium(part)) return part
      const param = `${path}.content[${place}]`
      const reason = refused.get(param) ?? mediumProblem(part, model)?.message
      if (reason !== undefined) return hiddenPart({ part, param, reason }, warnings)
      shown.add(param)
      if (provider.chat?.takesResultMedia === true) return part
      moved.push({ part: { type: 'text', text: title }, param }, { part, param })
      return { type: 'text', text: '(see the next message)' }
    })
    placed.push({ message: { ...message, content }, params: [path] })
  }
  putMoved()
  const sentAt = (_: string, at: string, place?: string) => {
    const [message = '', ...parts] = placed[Number(at)]!.params
    return place === undefined ? message : (parts[Number(place)] ?? `${message}.content[${place}]`)
  }
  const asSent: PlacedMedia['asSent'] = (notes) =>
    notes.map((note) => ({ ...note, param: note.param.replace(partParam, sentAt) }))
  const hiddenFor: PlacedMedia['hiddenFor'] = (problems) => {
    const more = problems.flatMap(({ param, message }) => {
      const [medium = ''] = partParam.exec(param) ?? []
      return shown.has(medium) ? [[medium, message] as const] : []
    })
    return more.length === 0 ? undefined : new Map([...refused, ...more])
  }
  return { messages: placed.map(({ message }) => message), warnings, asSent, hiddenFor }
}

const partParam = /^messages\[(\d+)\](?:\.content\[(\d+)\])?/

function hasMedia(message: Message): message is Result {
  if (message.role !== 'tool' || !Array.isArray(message.content)) return false
  return message.content.some(isMedium)
}
