import { joinPieces } from '../../bytes/pieces.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import type { NamedAddress, ReadSources } from '../../core/image/image.ts'

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
  const images = await readSources(remote, call)
  const urls = new Map(
    remote.map(({ address }, index) => {
      const { format, base64 } = images[index]!
      return [address, `data:image/${format};base64,${joinPieces(base64).toString('latin1')}`]
    }),
  )
  const messages = request.messages.map((message) => {
    if (message.role === 'function' || !Array.isArray(message.content)) return message
    const content = message.content.map((part) => {
      const url = part.type === 'image_url' ? urls.get(part.image_url.url) : undefined
      if (part.type !== 'image_url' || url === undefined) return part
      return { ...part, image_url: { ...part.image_url, url } }
    })
    return { ...message, content }
  })
  return { ...request, messages }
}

function remoteImages({ messages }: ChatRequest): NamedAddress[] {
  return messages.flatMap(({ content }, index) =>
    (Array.isArray(content) ? content : []).flatMap((part, place) => {
      if (part.type !== 'image_url' || part.image_url.url.startsWith('data:')) return []
      const param = `messages[${index}].content[${place}].image_url.url`
      return [{ address: part.image_url.url, param }]
    }),
  )
}
