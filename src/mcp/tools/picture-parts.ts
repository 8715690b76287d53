import type { components } from '../../../generated/tool-types.ts'
import type { CallContext } from '../../core/caller.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import type { NamedAddress } from '../../core/image/image.ts'
import type { OpenPicture } from './open-picture.ts'

type Schemas = components['schemas']
type Message = Schemas['chat']['messages'][number]
type Part = Exclude<Message['content'], string>[number]
/** A picture among the arguments of a tool, in any of the forms that clients and models write. */
export type PicturePart = NonNullable<Schemas['generate-image']['images']>[number]

/** A conversation, and how the caller named what the core names otherwise. */
type Conversation = {
  messages: ChatRequest['messages']
  nameOf: (param: string) => string
}

/** The messages of a tool call as those of a chat request: pictures become addresses. */
export async function conversationOf(
  messages: readonly Message[],
  context: CallContext,
  open: OpenPicture,
): Promise<Conversation> {
  const names = new Map<string, string>()
  const partOf = async (part: Part, param: string) => {
    if (part.type === 'text') return part
    const { address, param: own } = await open(addressOf(part, param), context)
    names.set(`${param}.image_url.url`, own)
    const detail = detailOf(part)
    const url = { url: address, ...(detail === undefined ? {} : { detail }) }
    return { type: 'image_url' as const, image_url: url }
  }
  const messageOf = async ({ role, content }: Message, index: number) => {
    if (typeof content === 'string') return { role, content }
    const parts = content.map((part, at) => partOf(part, `messages[${index}].content[${at}]`))
    return { role, content: await Promise.all(parts) }
  }
  const converted = await Promise.all(messages.map(messageOf))
  return { messages: converted, nameOf: (param) => names.get(param) ?? param }
}

/** The address of a picture, and the member of the arguments that holds it. */
export function addressOf(picture: PicturePart, param: string): NamedAddress {
  if (typeof picture === 'string') return { address: picture, param }
  if (picture.type === 'image') {
    const { data, mimeType } = picture
    return { address: dataUrl(data, mimeType), param: `${param}.data` }
  }
  const { image_url: given } = picture
  return typeof given === 'string'
    ? { address: given, param: `${param}.image_url` }
    : { address: given.url, param: `${param}.image_url.url` }
}

function detailOf(part: Exclude<PicturePart, string>) {
  if (part.type === 'image' || typeof part.image_url === 'string') return undefined
  return part.image_url.detail
}

/** Without a media type that can stand in a data URL, the bytes alone tell what they are. */
function dataUrl(data: string, mimeType = ''): string {
  if (/^data:/i.test(data)) return data
  const type = /^image\/[\w.+-]+$/i.test(mimeType) ? mimeType : 'application/octet-stream'
  return `data:${type};base64,${data}`
}
