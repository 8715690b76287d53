import type { ChatRequest } from './chat.ts'
import type { CheckPicture, LeftTexts } from '../image/image.ts'
import type { Warning } from '../model.ts'

/**
 * The conversation with its pictures checked, each with its true media type; undefined when there is nothing to
 * correct. Throws a GatewayError that names the first that no model can read.
 */
export function checkedPictures(
  request: ChatRequest,
  texts: LeftTexts,
  check: CheckPicture,
): { request: ChatRequest; warnings: Warning[] | undefined } | undefined {
  if (!request.messages.some(hasPictures)) return undefined
  const warnings: Warning[] = []
  let isCorrected = false
  const read = (part: { image_url: { url: string } }, param: string) => {
    const { url: address } = part.image_url
    const url = check({ address, param: `${param}.image_url.url` }, texts, warnings)
    if (url === address) return part
    isCorrected = true
    return { ...part, image_url: { ...part.image_url, url } }
  }
  const messages = request.messages.map((message, index) => {
    const content = Array.isArray(message.content)
      ? message.content.map((part, place) =>
          part.type === 'image_url' ? read(part, `messages[${index}].content[${place}]`) : part,
        )
      : message.content
    if (message.role !== 'assistant' || !message.images) return { ...message, content }
    const images = message.images.map((part, place) =>
      read(part, `messages[${index}].images[${place}]`),
    )
    return { ...message, content, images }
  })
  if (!isCorrected) return undefined
  // Parts keep their types: only addresses differ.
  const corrected = { ...request, messages: messages as ChatRequest['messages'] }
  return { request: corrected, warnings: warnings.length === 0 ? undefined : warnings }
}

function hasPictures(message: ChatRequest['messages'][0]): boolean {
  if (message.role === 'assistant' && message.images) return true
  return Array.isArray(message.content) && message.content.some(({ type }) => type === 'image_url')
}
