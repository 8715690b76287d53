import type { components } from '../../../generated/types.ts'
import { readDataUrl } from '../../bytes/base64.ts'
import { conversationImages } from '../image/chat-to-image.ts'
import { readPicture } from '../image/picture.ts'
import type { CatalogModel, Model, Problem, Warning } from '../model.ts'
import type { Route } from '../route.ts'
import type { ChatRequest } from './chat.ts'

export type Part = components['schemas']['ContentPart']
type Medium = Extract<Part, { type: 'image_url' | 'file' | 'input_audio' }>

/** Whether a part is a picture, a document or a sound. */
export function isMedium(part: Part): part is Medium {
  return part.type !== 'text' && part.type !== 'refusal'
}

/** A URL that a server might fetch; data URLs are excluded. */
const address = /^\s*(?!data:)[a-z][a-z0-9+.-]*:/i
export const notFetched =
  'Documents are not fetched from URLs. Download the document and send it in base64: as a data URL in ' +
  '`file_data`, or in the Messages API as a `source` of the type `base64`.'

/** The name of the member of a document that is a URL, if one is. */
export function addressIn(file: Extract<Medium, { type: 'file' }>['file']) {
  return (['file_data', 'file_id'] as const).find((name) => address.test(file[name] ?? ''))
}

/** Why the model cannot read a medium in the result of a tool; undefined if it can, according to the catalog. */
export function mediumProblem(part: Medium, { row, undescribed }: Model): MediumProblem {
  if (part.type === 'file' && addressIn(part.file)) return { message: notFetched }
  if (undescribed) return undefined
  const messages = [{ role: 'user' as const, content: [part] }]
  return unreadable(part, row) ?? tooSmallPictures({ messages }, row)[0]
}

type MediumProblem = Pick<Problem, 'message'> | undefined

/** Why a model cannot read media of this type; undefined if it can. */
export function unreadable({ type }: Medium, row: CatalogModel): MediumProblem {
  const refused = (what: string) => ({ message: `${row.id} does not accept ${what}.` })
  if (type === 'image_url') return row.capabilities.vision ? undefined : refused('images')
  const [modality, what] =
    type === 'file' ? ['pdf' as const, 'documents'] : ['audio' as const, 'audio']
  return row.input_modalities.includes(modality) ? undefined : refused(what)
}

/** Covers the header of nearly every picture; pictures with longer headers are not checked. */
const headCharacters = 65_536

/** Problems of pictures below the minimum size of the model, besides those in the results of tools. */
export function tooSmallPictures(
  { messages }: Pick<ChatRequest, 'messages'>,
  row: CatalogModel,
): Problem[] {
  const { id, input_image_side_min: least } = row
  if (least === undefined) return []
  const attached = messages.map((one) => (one.role === 'tool' ? { ...one, content: '' } : one))
  return conversationImages({ messages: attached }).flatMap(({ address, param }) => {
    const head = readDataUrl(address)?.base64.slice(0, headCharacters)
    const picture = head === undefined ? undefined : readPicture([Buffer.from(head)])
    return picture === undefined ? [] : tooSmall(picture, { id, least, param })
  })
}

/** The problem of a picture below the minimum size of the model; an empty list when it is large enough. */
export function tooSmall(
  { width, height }: { width: number; height: number },
  { id, least = 0, param }: { id: string; least?: number | undefined; param: string },
): Problem[] {
  if (Math.min(width, height) >= least) return []
  const message = `${id} does not accept images with a side below ${least} pixels; this one is ${width}x${height}.`
  return [{ param, message, code: 'invalid_value' }]
}

const names: Readonly<Record<string, string>> = {
  image_url: 'a picture',
  file: 'a document',
  input_audio: 'a sound',
}

/** The text that replaces a medium in the result of a tool, with a warning. */
export function hiddenPart(
  { part: { type }, param, reason }: { part: Part; param: string; reason: string },
  warnings: Warning[],
): Part {
  const text = `[The tool returned ${names[type]} that is not shown here: ${reason}]`
  warnings.push({ param, requested: type, applied: text, reason })
  return { type: 'text', text }
}

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
