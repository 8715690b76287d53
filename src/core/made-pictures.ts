import type { components } from '../../generated/types.ts'
import type { ChatRequest } from './chat.ts'
import type { Model, Warning } from './model.ts'

type Message = ChatRequest['messages'][number]
type ImagePart = components['schemas']['ImagePart']
type TextPart = components['schemas']['TextPart']

type Told = { request: ChatRequest; warnings: readonly Warning[] }

/** A conversation as a model is told it, with the pictures that models drew in it where it sees. */
export function tellMadePictures(request: ChatRequest, { row }: Model): Told {
  if (!request.messages.some((message) => madeBy(message).length > 0)) {
    return { request, warnings: [] }
  }
  return row.capabilities.vision ? { request: shown(request), warnings: [] } : hidden(request)
}

/**
 * The user shows them in the next message: elsewhere most vendors take none. Those behind the user's
 * last message are left out.
 */
function shown(request: ChatRequest): ChatRequest {
  let made: ImagePart[] = []
  const messages = request.messages.map((message): Message => {
    made.push(...madeBy(message).map(({ type, image_url }) => ({ type, image_url })))
    if (message.role !== 'user' || made.length === 0) return withoutPictures(message)
    const content = [...listed(message.content), ...made]
    made = []
    return { ...message, content }
  })
  return { ...request, messages }
}

function hidden(request: ChatRequest): Told {
  const warnings = request.messages.flatMap((message, index): Warning[] => {
    const { length } = madeBy(message)
    if (length === 0) return []
    const reason = 'The model does not see images.'
    const param = `messages[${index}].images`
    return [{ param, requested: countOf(length), applied: null, reason }]
  })
  return { request: { ...request, messages: request.messages.map(withoutPictures) }, warnings }
}

function madeBy(message: Message): readonly ImagePart[] {
  return message.role === 'assistant' ? (message.images ?? []) : []
}

/** Vendors refuse an answer without a word. */
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
