import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { GatewayError } from '../../core/error.ts'
import { dropped, type Warning } from '../../core/model.ts'
import type { ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'
import { unsent } from '../native-only.ts'

type Schemas = components['schemas']
type Message = ChatRequest['messages'][number]
type Block = Schemas['MessageBlock']
type Part = Schemas['TextPart'] | Schemas['ImagePart'] | Schemas['FilePart']
type Result = Schemas['MessageToolResultBlock']
type Shown = Schemas['MessageResultPart']
type Call = Schemas['FunctionToolCall']
type ExtraContent = Schemas['ToolCallExtraContent']

/** Canonical messages, each with its path in the request of the caller. */
export type Conversation = {
  messages: Message[]
  places: string[]
  /** What only a vendor of this API reads. */
  lost: Warning[]
}
type ConversationBody = Pick<Schemas['CreateMessageRequest'], 'messages' | 'system'>

/** Translates the conversation of a Messages request (docs/messages.md#conversation). */
export function readConversation(
  { messages, system = [] }: ConversationBody,
  seal: ThoughtSeal,
): Conversation {
  const read: Conversation = { messages: [], places: [], lost: [] }
  const add = (message: Message, place: string) => {
    read.messages.push(message)
    read.places.push(place)
  }
  const instructions = textsOf(system)
  if (instructions.length > 0) add({ role: 'system', content: instructions }, 'system')
  let hasBegun = false
  for (const [index, { role, content }] of messages.entries()) {
    const place = `messages[${index}]`
    const blocks: readonly Block[] =
      typeof content === 'string' ? [{ type: 'text', text: content }] : content
    if (role === 'system') addInstructions(blocks, { place, hasBegun }, add)
    else if (role === 'user') addUserTurn(blocks, place, add)
    else addAssistantTurn(blocks, place, { add, seal, lost: read.lost })
    hasBegun ||= role !== 'system'
  }
  return read
}

type Add = (message: Message, place: string) => void

/** Claude Code sends a line for Anthropic's billing, which differs between requests. */
const billingLine = /^x-anthropic-billing-header:/

function textsOf(system: Schemas['MessageSystem']): Schemas['TextPart'][] {
  const blocks = typeof system === 'string' ? [{ type: 'text' as const, text: system }] : system
  return blocks.flatMap((block) => {
    return block.text === '' || billingLine.test(block.text) ? [] : [textPart(block)]
  })
}

/**
 * Instructions within a conversation stay in their place, as a user message: some vendors take
 * instructions only before the conversation, and moving them there would change the beginning of the
 * prompt with each request, so that nothing of it could come from the vendor's cache.
 */
function addInstructions(
  blocks: readonly Block[],
  { place, hasBegun }: { place: string; hasBegun: boolean },
  add: Add,
): void {
  const texts = blocks.map((block, at) => {
    if (block.type !== 'text') throw misplaced(block, 'system', `${place}.content[${at}]`)
    return textPart(block)
  })
  const said = texts.filter(({ text }) => text !== '')
  if (said.length === 0) return
  if (!hasBegun) return add({ role: 'system', content: said }, place)
  const content = said.map((part) => ({
    ...part,
    text: `<system-reminder>\n${part.text}\n</system-reminder>`,
  }))
  add({ role: 'user', content }, place)
}

/**
 * The results of tools come before the text of the turn. Pictures and documents beside them belong to the last result:
 * Claude Code sends a PDF that its tool has read so.
 */
function addUserTurn(blocks: readonly Block[], place: string, add: Add): void {
  const results: { block: Result; content: Part[]; path: string }[] = []
  const said: Part[] = []
  for (const [at, block] of blocks.entries()) {
    const path = `${place}.content[${at}]`
    if (block.type === 'tool_result') results.push({ block, content: resultOf(block), path })
    else if (isShown(block)) for (const part of partsOf(block)) said.push(part)
    else throw misplaced(block, 'user', path)
  }
  const last = results.at(-1)
  const own = last === undefined ? said : said.filter(({ type }) => type === 'text')
  last?.content.push(...said.filter(({ type }) => type !== 'text'))
  for (const { block, content, path } of results) {
    const text = content.length === 0 ? '' : content
    add({ role: 'tool', tool_call_id: block.tool_use_id, content: text }, path)
  }
  if (own.length > 0) add({ role: 'user', content: own }, place)
  else if (last === undefined) add({ role: 'user', content: '' }, place)
}

function isShown(block: Block): block is Block & Shown {
  const { type } = block
  return type === 'text' || type === 'image' || type === 'document' || type === 'search_result'
}

function resultOf(block: Result): Part[] {
  const { content = [], is_error: isError, cache_control: mark } = block
  const blocks: Shown[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const parts = blocks.flatMap(partsOf)
  // The canonical result of a tool has no member for an error.
  if (isError === true) parts.unshift({ type: 'text', text: 'The tool failed.' })
  const last = parts.at(-1)
  if (mark !== undefined && last !== undefined) last.cache_control = mark
  return parts
}

function partsOf(block: Shown): Part[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [textPart(block)]
    case 'image': {
      const { source } = block
      const url =
        source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`
      return [{ type: 'image_url', image_url: { url }, ...markOf(block) }]
    }
    case 'document':
      return documentParts(block)
    case 'search_result': {
      const { title, source, content } = block
      const text = [title, source, ...content.map((one) => one.text)].join('\n')
      return [{ type: 'text', text, ...markOf(block) }]
    }
    case 'tool_reference':
      return [{ type: 'text', text: `The tool ${block.tool_name} is available.` }]
  }
}

function documentParts(block: Schemas['MessageDocumentBlock']): Part[] {
  const { source, title, context } = block
  const about = context === undefined ? [] : [{ type: 'text' as const, text: context }]
  if (source.type === 'text') {
    const text = title === undefined ? source.data : `${title}\n\n${source.data}`
    return [...about, { type: 'text', text, ...markOf(block) }]
  }
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`
  const file = { file_data: url, filename: title ?? 'document.pdf' }
  return [...about, { type: 'file', file, ...markOf(block) }]
}

function addAssistantTurn(
  blocks: readonly Block[],
  place: string,
  { add, seal, lost }: { add: Add; seal: ThoughtSeal; lost: Warning[] },
): void {
  const said: Schemas['TextPart'][] = []
  const thoughts: string[] = []
  const calls: Call[] = []
  let data: ExtraContent | undefined
  for (const [at, block] of blocks.entries()) {
    switch (block.type) {
      case 'text':
        if (block.text !== '') said.push(textPart(block))
        break
      case 'thinking': {
        // Reasoning of another gateway, or of Anthropic itself, is left out: no vendor accepts it.
        const carried = seal.open(block.signature ?? '')
        if (carried === undefined) break
        if (Object.keys(carried).length > 0) data = carried
        if (block.thinking !== '') thoughts.push(block.thinking)
        break
      }
      case 'redacted_thinking':
        break
      case 'server_tool_use':
        lost.push(dropped(`${unsent}${place}.content[${at}]`, block.type, onlyAnthropic))
        break
      case 'web_search_tool_result':
        break
      case 'tool_use':
        calls.push(callOf(block, data))
        data = undefined
        break
      default:
        throw misplaced(block, 'assistant', `${place}.content[${at}]`)
    }
  }
  if (said.length === 0 && calls.length === 0) return
  const isMarked = said.some(({ cache_control: mark }) => mark !== undefined)
  const text = said.map((part) => part.text).join('\n\n')
  const message: Schemas['AssistantMessage'] = {
    role: 'assistant',
    content: isMarked ? said : text === '' ? null : text,
  }
  if (thoughts.length > 0) message.reasoning_content = thoughts.join('\n\n')
  if (calls.length > 0) message.tool_calls = calls
  add(message, place)
}

const onlyAnthropic =
  'Only models of Anthropic read the searches of an earlier message. Others read its text.'

function callOf(block: Schemas['MessageToolUseBlock'], data: ExtraContent | undefined): Call {
  const call: Call = {
    id: block.id,
    type: 'function',
    function: { name: block.name, arguments: JSON.stringify(block.input) },
  }
  return data === undefined ? call : { ...call, extra_content: data }
}

type Marked = { cache_control?: Schemas['CacheControl'] }

function markOf({ cache_control: mark }: Marked): Marked {
  return mark === undefined ? {} : { cache_control: mark }
}

function textPart(block: Schemas['MessageTextBlock']): Schemas['TextPart'] {
  return { type: 'text', text: block.text, ...markOf(block) }
}

function misplaced({ type }: Block, role: string, param: string): GatewayError {
  const text = `A block of the type '${type}' cannot be part of a message with the role '${role}'.`
  return new GatewayError('invalid_value', text, { param: `${param}.type` })
}
