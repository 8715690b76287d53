import type { ChatRequest } from '../../core/chat/chat.ts'
import { dataUrlOf, withUrls } from '../../core/chat/pictures.ts'
import { conversationImages } from '../../core/image/chat-to-image.ts'
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
  const urls = new Map(remote.map(({ address }, index) => [address, dataUrlOf(images[index]!)]))
  return withUrls(request, urls)?.request ?? request
}

function remoteImages(request: ChatRequest): NamedAddress[] {
  return conversationImages(request).filter(({ address }) => !address.startsWith('data:'))
}
