import type { components } from '../../../generated/tool-types.ts'
import type { MemoryHold } from '../../bytes/memory-budget.ts'
import type { CallContext } from '../../core/caller.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { GatewayError, assertTaken } from '../../core/error.ts'
import type { NamedAddress } from '../../core/image/image.ts'
import { isHandle, type Uploads } from '../uploads.ts'

type Schemas = components['schemas']
type Message = Schemas['chat']['messages'][number]
type Part = Exclude<Message['content'], string>[number]
type TextPart = Extract<Part, { type: 'text' }>
/** A picture in the arguments of a tool, in any of the forms that clients and models send. */
type PicturePart = NonNullable<Schemas['generate-image']['images']>[number]

/** A conversation; `nameOf` maps parameters of the chat request to those of the caller. */
type Conversation = {
  messages: ChatRequest['messages']
  nameOf: (param: string) => string
}

/**
 * Converts the messages of a tool call to those of a chat request: pictures become addresses, and pictures in
 * a message of the assistant become its `images`. Throws a GatewayError.
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

/** The address of a picture, and the argument that contains it. Throws `missing_required_parameter`. */
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

/**
 * One schema describes both types, since LangChain merges alternatives, so it requires no member.
 */
function missing(member: string, { type, param }: { type: string; param: string }): GatewayError {
  const path = `${param}.${member}`
  const text = `'${path}' is required for a picture of type '${type}'.`
  return new GatewayError('missing_required_parameter', text, { param: path })
}

function detailOf(part: Exclude<Part, TextPart>) {
  if (part.type === 'image' || typeof part.image_url === 'string') return undefined
  return part.image_url.detail
}

/** A data URL; without a valid media type the format is detected from the bytes. */
function dataUrl(data: string, mimeType = ''): string {
  if (/^data:/i.test(data)) return data
  const type = /^image\/[\w.+-]+$/i.test(mimeType) ? mimeType : 'application/octet-stream'
  return `data:${type};base64,${data}`
}

/**
 * Returns a data URL for the handle of a saved picture, and any other address unchanged.
 * Throws a GatewayError, also if memory for copies of the picture is exhausted.
 */
export type OpenPicture = (named: NamedAddress, context: CallContext) => Promise<NamedAddress>

export function createOpenPicture(uploads: Uploads | undefined): OpenPicture {
  return async (named, context) => {
    const { address, param } = named
    if (!isHandle(address)) {
      countCopies(address, context.memory)
      return named
    }
    if (uploads === undefined) {
      const text = 'This server has no upload folder (UPLOAD_DIR), so it has no saved pictures.'
      throw new GatewayError('invalid_value', text, { param })
    }
    const bytes = await uploads.read(named, context)
    // The picture is validated later like any other, since files of the folder are not trusted.
    return { address: `data:application/octet-stream;base64,${bytes.toString('base64')}`, param }
  }
}

/** Addresses below this length are not counted as memory. */
const copiedCharactersMin = 16_384

/** Reserves memory for two copies of a data URL: the decoded bytes, and their base64. */
function countCopies(address: string, memory: MemoryHold): void {
  if (address.length < copiedCharactersMin) return
  assertTaken(memory.takeMore(2 * address.length))
}
