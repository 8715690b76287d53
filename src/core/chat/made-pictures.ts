import type { components } from '../../../generated/types.ts'
import type { Model, Warning } from '../model.ts'
import type { ChatRequest } from './chat.ts'

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
  return [{ param: `messages[${index}].images`, requested: countOf(length), applied: null, reason }]
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
  return { ...rest, content: `(${countOf(images.length)})` }
}

function countOf(pictures: number): string {
  return pictures === 1 ? '1 picture' : `${pictures} pictures`
}

function listed(content: Extract<Message, { role: 'user' }>['content']) {
  return typeof content === 'string'
    ? [{ type: 'text', text: content } satisfies TextPart]
    : content
}
