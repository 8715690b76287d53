import type {
  ContentBlockParam,
  ImageBlockParam,
  MessageParam,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { ChatRequest } from '../../core/chat.ts'
import { dropped } from '../chat-fields.ts'
import { readDataUrl } from '../data-url.ts'
import type { Notes } from './chat-request.ts'

type Message = ChatRequest['messages'][number]
type Content = Message['content']
type Part = Exclude<Content, string | null | undefined>[number]
type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'

const imageTypes: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
])

/** The conversation: instructions apart, and turns of user and assistant by turns. */
export function writeMessages(
  messages: readonly Message[],
  notes: Notes,
): { system: string[]; messages: MessageParam[] } {
  const system: string[] = []
  const turns: { role: 'user' | 'assistant'; content: ContentBlockParam[] }[] = []
  const add = (role: 'user' | 'assistant', blocks: ContentBlockParam[]) => {
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else if (blocks.length > 0) turns.push({ role, content: blocks })
  }
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    if ('name' in message && message.name !== undefined) {
      notes.warnings.push(dropped(`${path}.name`, message.name, 'Anthropic names no authors.'))
    }
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(...textsOf(message.content))
        if (turns.length > 0) notes.warnings.push(hoisted(path, message.role))
        break
      case 'user':
        add('user', blocksOf(message.content, `${path}.content`, notes))
        break
      case 'assistant':
        add('assistant', [
          ...blocksOf(message.content, `${path}.content`, notes),
          ...callsOf(message, path, notes),
        ])
        break
      case 'tool':
        add('user', [resultOf(message, path, notes)])
    }
  }
  return { system, messages: turns }
}

function hoisted(param: string, role: string) {
  const reason = 'Anthropic reads instructions before the conversation, not within it.'
  return { param, requested: role, applied: 'system', reason }
}

function textsOf(content: Content): string[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  return (content ?? []).flatMap((part) => ('text' in part && part.text !== '' ? part.text : []))
}

/** Empty texts are left out: the vendor refuses them. */
function blocksOf(
  content: Content,
  path: string,
  notes: Notes,
): (TextBlockParam | ImageBlockParam)[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return (content ?? []).flatMap((part, place) => blockOf(part, `${path}[${place}]`, notes))
}

function blockOf(part: Part, path: string, notes: Notes): (TextBlockParam | ImageBlockParam)[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text }]
  if (part.type !== 'image_url') {
    notes.problems.push({ param: path, message: `Anthropic takes no '${part.type}' here.` })
    return []
  }
  const { url, detail } = part.image_url
  if (detail === 'low' || detail === 'high') {
    const reason = 'Anthropic has one detail for all images.'
    notes.warnings.push(dropped(`${path}.image_url.detail`, detail, reason))
  }
  if (!url.startsWith('data:')) return [{ type: 'image', source: { type: 'url', url } }]
  const data = readDataUrl(url)
  if (data === undefined || !imageTypes.has(data.mediaType)) {
    const message = 'Anthropic takes a base64 data URL of a JPEG, PNG, GIF or WebP.'
    notes.problems.push({ param: `${path}.image_url.url`, message, code: 'invalid_value' })
    return []
  }
  // One of the four, as was just seen.
  const mediaType = data.mediaType as ImageType
  return [{ type: 'image', source: { type: 'base64', media_type: mediaType, data: data.base64 } }]
}

function callsOf(
  { tool_calls: calls }: Extract<Message, { role: 'assistant' }>,
  path: string,
  { problems }: Notes,
): ContentBlockParam[] {
  return (calls ?? []).flatMap((call, place): ContentBlockParam[] => {
    const { name, arguments: text } = call.function
    const input = parseArguments(text)
    if (input !== undefined) return [{ type: 'tool_use', id: call.id, name, input }]
    const param = `${path}.tool_calls[${place}].function.arguments`
    problems.push({ param, message: 'The arguments are not a JSON object.', code: 'invalid_value' })
    return []
  })
}

/** What a model wrote as arguments; a tool without any is called with an empty text by some. */
function parseArguments(text: string): object | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

function resultOf(
  { tool_call_id: id, content }: Extract<Message, { role: 'tool' }>,
  path: string,
  notes: Notes,
): ToolResultBlockParam {
  const blocks = blocksOf(content, `${path}.content`, notes)
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(blocks.length > 0 ? { content: blocks } : {}),
  }
}
