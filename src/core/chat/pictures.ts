import type { components } from '../../../generated/types.ts'
import { readDataUrl } from '../../bytes/base64.ts'
import { joinPieces } from '../../bytes/pieces.ts'
import type { Call } from '../call.ts'
import { conversationImages } from '../image/chat-to-image.ts'
import { fitSources, oversizeWarnings } from '../image/fit-sources.ts'
import {
  noTexts,
  type ImageSource,
  type NamedAddress,
  type ReadSources,
  type ShrinkPicture,
} from '../image/image.ts'
import type { Model, Warning } from '../model.ts'
import type { Route } from '../route.ts'
import type { ChatRequest, ChatTurn, PreparedChat } from './chat.ts'
import { checkedPictures } from './check.ts'
import { counted } from '../words/counted.ts'

export type PictureParts = { readSources: ReadSources; shrinkPicture: ShrinkPicture }

/** Whether the conversation contains images by URL. */
export function needsInlining(request: ChatRequest): boolean {
  return remoteImages(request).length > 0
}

/** The same request with every image as a data URL, for vendors that do not fetch images. */
export async function inlineImages(
  request: ChatRequest,
  readSources: ReadSources,
  call: Parameters<ReadSources>[1],
): Promise<ChatRequest> {
  const remote = remoteImages(request)
  return withCopies(request, remote, await readSources(remote, call))
}

function remoteImages(request: ChatRequest): NamedAddress[] {
  return conversationImages(request).filter(({ address }) => !address.startsWith('data:'))
}

function withCopies(
  request: ChatRequest,
  pictures: readonly NamedAddress[],
  copies: readonly ImageSource[],
): ChatRequest {
  const urls = pictures.map(({ address }, at) => [address, dataUrlOf(copies[at]!)] as const)
  return withUrls(request, new Map(urls))?.request ?? request
}

function dataUrlOf({ format, base64 }: ImageSource): string {
  return `data:image/${format};base64,${joinPieces(base64).toString('latin1')}`
}

/**
 * The request with other URLs for some pictures; undefined when nothing changes. Throws an error among the URLs,
 * except that in the result of a tool a text replaces the picture.
 */
function withUrls(request: ChatRequest, urls: ReadonlyMap<string, unknown>) {
  return checkedPictures(request, noTexts, ({ address }) => {
    const url = urls.get(address) ?? address
    if (typeof url === 'string') return url
    throw url
  })
}

/**
 * The request with the end of each JPEG whose file lacks it; undefined when nothing changes. A decoder sees
 * whether more is missing, so this comes after the rate limits. Rejects with a GatewayError for a broken picture.
 */
export function withEnds(
  request: ChatRequest,
  readSources: ReadSources,
  { deadline: { signal }, context: { memory } }: Call,
): Promise<ReturnType<typeof withUrls>> | undefined {
  const jpegs = conversationImages(request).filter(({ address }) => mayLackEnd(address))
  if (jpegs.length === 0) return undefined
  const read = async (named: NamedAddress) => {
    const reading = readSources([named], { signal, memory }).then(([source]) => dataUrlOf(source!))
    return [named.address, await reading.catch((error: unknown) => error)] as const
  }
  return Promise.all(jpegs.map(read)).then((urls) => withUrls(request, new Map(urls)))
}

/** Whether a JPEG has other last bytes than its end marker, as a few complete files have too. */
function mayLackEnd(url: string): boolean {
  if (!url.startsWith('data:image/jpeg;')) return false
  return !Buffer.from(url.slice(-8), 'base64').toString('hex').endsWith('ffd9')
}

/** A translated chat that sends smaller copies of pictures that are larger than the vendor takes, with warnings. */
export function fitted(
  chat: PreparedChat,
  request: ChatRequest,
  { route, parts }: { route: Route; parts: PictureParts },
): PreparedChat {
  const { model, provider } = route
  const { input_image_bytes_max: each, input_images_bytes_max: all } = model.row
  if (chat.isNative || (each ?? all) === undefined) return chat
  // Pictures in other formats cannot be converted.
  const pictures = conversationImages(request).flatMap((named) =>
    /^data:image\/(?:png|jpeg|webp);/.test(named.address)
      ? [{ ...named, base64: readDataUrl(named.address)!.base64 }]
      : [],
  )
  const warnings = oversizeWarnings(pictures, model)
  if (warnings.length === 0) return chat
  const smaller = async ({ signal, memory }: ChatTurn) => {
    const sources = await parts.readSources(pictures, { signal, memory })
    const copies = await fitSources(sources, model, { shrink: parts.shrinkPicture, memory })
    return provider.chat!.prepare(withCopies(request, pictures, copies), route)
  }
  return {
    ...chat,
    warnings: [...chat.warnings, ...warnings],
    complete: async (turn) => (await smaller(turn)).complete(turn),
    stream: async (turn) => (await smaller(turn)).stream(turn),
  }
}

type Message = ChatRequest['messages'][number]
type ImagePart = components['schemas']['ImagePart']
type TextPart = components['schemas']['TextPart']

type ShownPictures = { request: ChatRequest; warnings: readonly Warning[] }

/** Moves pictures that models drew into a user message, or drops them if the model cannot read pictures. */
export function showMadePictures(request: ChatRequest, { row }: Model): ShownPictures {
  if (!request.messages.some((message) => madeBy(message).length > 0)) {
    return { request, warnings: [] }
  }
  if (row.capabilities.vision) return toUserMessages(request)
  const messages = request.messages.map(withoutPictures)
  const hidden = request.messages.flatMap((message, index) =>
    lost(message, index, 'The model does not accept images.'),
  )
  return { request: { ...request, messages }, warnings: hidden }
}

/**
 * Moves pictures into the user's next message, since most vendors take pictures only there. After the results
 * of tools they get a message of their own.
 */
function toUserMessages(request: ChatRequest): ShownPictures {
  const last = request.messages.findLastIndex(({ role }) => role === 'user')
  let made: ImagePart[] = []
  const messages = request.messages.map((message): Message => {
    for (const { type, image_url } of madeBy(message)) made.push({ type, image_url })
    if (message.role !== 'user' || made.length === 0) return withoutPictures(message)
    const content = [...listed(message.content), ...made]
    made = []
    return { ...message, content }
  })
  if (made.length > 0 && messages.at(-1)!.role === 'tool') {
    messages.push({ role: 'user', content: made })
    made = []
  }
  const isLost = made.length > 0
  const warnings = request.messages.flatMap((message, index) =>
    isLost && index > last
      ? lost(message, index, 'Pictures are sent in the next user message, but none follows.')
      : [],
  )
  return { request: { ...request, messages }, warnings }
}

function lost(message: Message, index: number, reason: string): Warning[] {
  const { length } = madeBy(message)
  if (length === 0) return []
  return [
    {
      param: `messages[${index}].images`,
      requested: counted(length, 'picture'),
      applied: null,
      reason,
    },
  ]
}

function madeBy(message: Message): readonly ImagePart[] {
  return message.role === 'assistant' ? (message.images ?? []) : []
}

/** Vendors refuse an assistant message without content, so a placeholder replaces the pictures. */
function withoutPictures(message: Message): Message {
  if (message.role !== 'assistant' || message.images === undefined) return message
  const { images, ...rest } = message
  const silent = !rest.content?.length && !rest.tool_calls?.length && !rest.refusal
  if (!silent || !images?.length) return rest
  return { ...rest, content: `(${counted(images.length, 'picture')})` }
}

function listed(content: Extract<Message, { role: 'user' }>['content']) {
  return typeof content === 'string'
    ? [{ type: 'text', text: content } satisfies TextPart]
    : content
}
