import type { Content, Part } from '@google/genai'
import type { ChatRequest } from '../../core/chat.ts'
import { dropped } from '../chat-fields.ts'
import { readDataUrl } from '../data-url.ts'
import type { Notes } from './chat-request.ts'

type Message = ChatRequest['messages'][number]
type MessageContent = Message['content']
type MessagePart = Exclude<MessageContent, string | null | undefined>[number]
type ToolCall = NonNullable<Extract<Message, { role: 'assistant' }>['tool_calls']>[number]
export type WireContent = Content & { role: 'user' | 'model'; parts: Part[] }

const imageTypes: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/heic',
  'image/heif',
])
/** Newer models refuse a call of theirs that comes back without the signature of its thoughts. */
const wantsSignature = /^gemini-(?:[3-9]|\d\d)/
/** What the vendor takes in place of a signature that got lost on the way. */
const noSignature = 'skip_thought_signature_validator'

/** The conversation: instructions apart, the rest in turns of user and model. */
export function writeContents(
  messages: readonly Message[],
  upstreamModel: string,
  notes: Notes,
): { system: string[]; contents: WireContent[] } {
  const system: string[] = []
  const contents: WireContent[] = []
  const names = new Map<string, string>()
  let lastRole: Message['role'] | undefined
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    if ('name' in message && message.name !== undefined) {
      notes.warnings.push(dropped(`${path}.name`, message.name, 'Gemini names no authors.'))
    }
    if (message.role === 'system' || message.role === 'developer') {
      system.push(...textsOf(message.content))
      if (contents.length > 0) notes.warnings.push(hoisted(path, message.role))
      continue
    }
    const parts = partsOfMessage(message, { path, upstreamModel, names, notes })
    const last = contents.at(-1)
    // The results of one turn's calls belong together.
    if (last !== undefined && lastRole === message.role) last.parts.push(...parts)
    else if (parts.length > 0) {
      contents.push({ role: message.role === 'assistant' ? 'model' : 'user', parts })
      lastRole = message.role
    }
  }
  return { system, contents }
}

type Place = { path: string; upstreamModel: string; names: Map<string, string>; notes: Notes }

function partsOfMessage(message: Message, place: Place): Part[] {
  const { path, names, notes } = place
  if (message.role === 'tool') {
    const name = names.get(message.tool_call_id) ?? message.tool_call_id
    return [{ functionResponse: { name, response: responseOf(message.content) } }]
  }
  const parts = partsOf(message.content, `${path}.content`, notes)
  if (message.role !== 'assistant') return parts
  const calls = (message.tool_calls ?? []).flatMap((call, index) => {
    names.set(call.id, call.function.name)
    return callOf(call, index, place)
  })
  return [...parts, ...calls]
}

function hoisted(param: string, role: string) {
  const reason = 'Gemini reads instructions before the conversation, not within it.'
  return { param, requested: role, applied: 'system', reason }
}

function textsOf(content: MessageContent): string[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  return (content ?? []).flatMap((part) => ('text' in part && part.text !== '' ? part.text : []))
}

function partsOf(content: MessageContent, path: string, notes: Notes): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }]
  return (content ?? []).flatMap((part, place) => partOf(part, `${path}[${place}]`, notes))
}

function partOf(part: MessagePart, path: string, notes: Notes): Part[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }]
  if (part.type !== 'image_url') {
    notes.problems.push({ param: path, message: `Gemini takes no '${part.type}' here.` })
    return []
  }
  const { url, detail } = part.image_url
  if (detail === 'low' || detail === 'high') {
    const reason = 'Gemini has one detail for all images.'
    notes.warnings.push(dropped(`${path}.image_url.detail`, detail, reason))
  }
  // It is fetched before this is sent.
  if (!url.startsWith('data:')) return []
  const data = readDataUrl(url)
  if (data !== undefined && imageTypes.has(data.mediaType)) {
    return [{ inlineData: { mimeType: data.mediaType, data: data.base64 } }]
  }
  const message = 'Gemini takes a base64 data URL of a PNG, JPEG, WebP, HEIC or HEIF.'
  notes.problems.push({ param: `${path}.image_url.url`, message, code: 'invalid_value' })
  return []
}

function callOf(call: ToolCall, index: number, { path, upstreamModel, notes }: Place): Part[] {
  const { name, arguments: text } = call.function
  const args = parseObject(text.trim() === '' ? '{}' : text)
  if (args === undefined) {
    const param = `${path}.tool_calls[${index}].function.arguments`
    const message = 'The arguments are not a JSON object.'
    notes.problems.push({ param, message, code: 'invalid_value' })
    return []
  }
  const signature = signatureOf(call)
  const part: Part = { functionCall: { name, args } }
  if (signature !== undefined) part.thoughtSignature = signature
  // Of calls side by side the first alone is signed.
  else if (index === 0 && wantsSignature.test(upstreamModel)) part.thoughtSignature = noSignature
  return [part]
}

function signatureOf({ extra_content: extra }: ToolCall): string | undefined {
  const google = (extra as { google?: { thought_signature?: unknown } } | undefined)?.google
  return typeof google?.thought_signature === 'string' ? google.thought_signature : undefined
}

/** A result that is no JSON object is wrapped in one. */
function responseOf(content: MessageContent): Record<string, unknown> {
  const text = textsOf(content).join('\n')
  return parseObject(text) ?? { result: text }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return value as Record<string, unknown>
  } catch {
    return undefined
  }
}
