import type { components } from '../../../generated/tool-types.ts'
import type { CallContext } from '../../core/caller.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { GatewayError } from '../../core/error.ts'
import type { NamedAddress } from '../../core/image/image.ts'
import type { OpenPicture } from './open-picture.ts'

type Schemas = components['schemas']
type Message = Schemas['chat']['messages'][number]
type Part = Exclude<Message['content'], string>[number]
type TextPart = Extract<Part, { type: 'text' }>
/** A picture among the arguments of a tool, in any of the forms that clients and models write. */
type PicturePart = NonNullable<Schemas['generate-image']['images']>[number]

/** A conversation, and how the caller named what the core names otherwise. */
type Conversation = {
  messages: ChatRequest['messages']
  nameOf: (param: string) => string
}

/**
 * The messages of a tool call as those of a chat request: pictures become addresses, and those in a
 * message of the assistant pictures that it made. Throws a GatewayError.
 */
export async function conversationOf(
  messages: readonly Message[],
  context: CallContext,
  open: OpenPicture,
): Promise<Conversation> {
  const names = new Map<string, string>()
  const pictureOf = async (part: Exclude<Part, TextPart>, from: string, to: string) => {
    const { address: url, param } = await open(addressOf(part, from), context)
    names.set(`${to}.image_url.url`, param)
    const detail = detailOf(part)
    const image = { url, ...(detail === undefined ? {} : { detail }) }
    return { type: 'image_url' as const, image_url: image }
  }
  const messageOf = async ({ role, content }: Message, index: number) => {
    if (typeof content === 'string') return { role, content }
    const path = `messages[${index}]`
    const placed = content.map((part, at) => ({ part, from: `${path}.content[${at}]` }))
    if (role !== 'assistant') {
      const parts = placed.map(async ({ part, from }) =>
        part.type === 'text' ? part : pictureOf(part, from, from),
      )
      return { role, content: await Promise.all(parts) }
    }
    const texts = content.filter((part) => part.type === 'text')
    const made = placed.flatMap(({ part, from }) => (part.type === 'text' ? [] : [{ part, from }]))
    const images = await Promise.all(
      made.map(({ part, from }, at) => pictureOf(part, from, `${path}.images[${at}]`)),
    )
    return { role, ...(texts.length === 0 ? {} : { content: texts }), images }
  }
  const converted = await Promise.all(messages.map(messageOf))
  return { messages: converted, nameOf: (param) => names.get(param) ?? param }
}

/** The address of a picture, and the member of the arguments that holds it. */
export function addressOf(picture: PicturePart, param: string): NamedAddress {
  if (typeof picture === 'string') return { address: picture, param }
  const { type, image_url: given, data, mimeType } = picture
  if (type === 'image') {
    if (data === undefined) throw missing('data', { type, param })
    return { address: dataUrl(data, mimeType), param: `${param}.data` }
  }
  if (given === undefined) throw missing('image_url', { type, param })
  return typeof given === 'string'
    ? { address: given, param: `${param}.image_url` }
    : { address: given.url, param: `${param}.image_url.url` }
}

/** One schema describes both types: LangChain merges alternatives of objects, and keeps one of them. */
function missing(member: string, { type, param }: { type: string; param: string }): GatewayError {
  const path = `${param}.${member}`
  const text = `'${path}' is required for a picture of type '${type}'.`
  return new GatewayError('missing_required_parameter', text, { param: path })
}

function detailOf(part: Exclude<Part, TextPart>) {
  if (part.type === 'image' || typeof part.image_url === 'string') return undefined
  return part.image_url.detail
}

/** Without a media type that can stand in a data URL, the bytes alone tell what they are. */
function dataUrl(data: string, mimeType = ''): string {
  if (/^data:/i.test(data)) return data
  const type = /^image\/[\w.+-]+$/i.test(mimeType) ? mimeType : 'application/octet-stream'
  return `data:${type};base64,${data}`
}
