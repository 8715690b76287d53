import type {
  Base64ImageSource,
  ContentBlockParam,
  DocumentBlockParam,
  ImageBlockParam,
  MessageParam,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { components } from '../../../generated/types.ts'
import { readDataUrl } from '../../bytes/base64.ts'
import { dropped, type Target } from '../../core/model.ts'
import { callIdFor } from '../wire/ids.ts'
import type { Notes } from '../wire/fields.ts'
import {
  answerAtEnd,
  argumentsOf,
  hoisted,
  instructionsAlone,
  instructionsOf,
  onlyTexts,
  partsOf,
  type Message,
  type PlacedPart,
  type PlacedText,
} from '../wire/parts.ts'
import { thoughtsOfCall, thoughtsPath } from './thoughts.ts'

type Schemas = components['schemas']
type Answer = Extract<Message, { role: 'assistant' }>
type ToolCall = Schemas['FunctionToolCall']
type ShownBlock = TextBlockParam | ImageBlockParam | DocumentBlockParam

const imageTypes: ReadonlySet<string> = new Set<Base64ImageSource['media_type']>([
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
])

const callIds = { pattern: /^[\w-]+$/, length: 24 }

type Turn = { role: 'user' | 'assistant'; content: ContentBlockParam[] }

/** Splits a conversation into system texts and alternating turns of user and assistant. */
export function writeMessages(
  messages: readonly Message[],
  { model, upstreamModel }: Target,
  notes: Notes,
): { system: TextBlockParam[]; messages: MessageParam[] } {
  const system: TextBlockParam[] = []
  const turns: Turn[] = []
  const add = (role: Turn['role'], blocks: ContentBlockParam[]) => {
    const last = turns.at(-1)
    if (last?.role === role) for (const block of blocks) last.content.push(block)
    else if (blocks.length > 0) turns.push({ role, content: blocks })
  }
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    switch (message.role) {
      case 'system':
      case 'developer':
        for (const block of textBlocksOf(instructionsOf(message, path, notes.problems), notes))
          system.push(block)
        if (turns.length > 0) notes.warnings.push(hoisted('Anthropic', path, message.role))
        break
      case 'user':
        add('user', blocksOf(message, path, notes))
        break
      case 'assistant': {
        const blocks = blocksOfAnswer(message, { path, upstreamModel }, notes)
        if (turns.length === 0 && blocks.length > 0) add('user', opening(path, notes))
        add('assistant', blocks)
        break
      }
      case 'tool':
        add('user', [resultOf(message, path, notes)])
    }
  }
  if (turns.at(-1)?.role === 'assistant') {
    notes.problems.push(...answerAtEnd(messages, model))
    trimEnd(turns.at(-1)!, messages, notes)
  }
  if (turns.length > 0 || system.length === 0) return { system, messages: turns }
  notes.warnings.push(instructionsAlone('Anthropic'))
  return { system: [], messages: [{ role: 'user', content: system }] }
}

/** Anthropic refuses a last assistant message that ends in white space. */
function trimEnd(turn: Turn, messages: readonly Message[], { warnings }: Notes): void {
  const last = turn.content.at(-1)
  if (last?.type !== 'text') return
  const text = last.text.trimEnd()
  if (text === last.text) return
  const param = `messages[${messages.findLastIndex(({ role }) => role === 'assistant')}].content`
  const reason =
    'Anthropic does not continue an answer that ends in white space; the white space was removed.'
  warnings.push({ param, requested: last.text.slice(-20), applied: text.slice(-20), reason })
  last.text = text
}

/** Anthropic refuses a conversation that starts with the assistant. */
function opening(param: string, { warnings }: Notes): TextBlockParam[] {
  const reason = "Anthropic requires a user message first. The message '.' was inserted."
  warnings.push({ param, requested: 'assistant', applied: 'user', reason })
  return [{ type: 'text', text: '.' }]
}

/** Omits texts of white space alone, which Anthropic refuses. */
function textBlocksOf(placed: readonly PlacedText[], notes: Notes): TextBlockParam[] {
  return placed.flatMap(({ part, param }) => {
    if (part.text.trim() === '') return []
    return { type: 'text', text: part.text, ...cachedUpTo(part, param, notes) }
  })
}

function blocksOf(message: Message, path: string, notes: Notes): ShownBlock[] {
  return partsOf(message, path).flatMap((placed) => blockOf(placed, notes))
}

function blockOf({ part, param }: PlacedPart, notes: Notes): ShownBlock[] {
  switch (part.type) {
    case 'text':
      return textBlocksOf([{ part, param }], notes)
    case 'image_url':
      return marked(imageOf(part, param, notes), part, param, notes)
    case 'file':
      return marked(documentOf(part, param, notes), part, param, notes)
    case 'input_audio':
      notes.problems.push({
        param,
        message: 'Anthropic does not accept audio. Choose another model.',
      })
      return []
  }
}

function marked<Block>(
  blocks: Block[],
  part: Schemas['ImagePart'] | Schemas['FilePart'],
  param: string,
  notes: Notes,
): Block[] {
  const mark = cachedUpTo(part, param, notes)
  return blocks.map((block) => ({ ...block, ...mark }))
}

function imageOf(
  { image_url: { url, detail } }: Schemas['ImagePart'],
  param: string,
  notes: Notes,
): ImageBlockParam[] {
  if (detail === 'low' || detail === 'high') {
    const reason = 'Anthropic has no detail levels for images.'
    notes.warnings.push(dropped(`${param}.image_url.detail`, detail, reason))
  }
  if (!url.startsWith('data:')) return [{ type: 'image', source: { type: 'url', url } }]
  const data = readDataUrl(url)
  if (data === undefined || !imageTypes.has(data.mediaType)) {
    const message = `Anthropic accepts a base64 data URL of a JPEG, PNG, GIF or WebP, not of ${data?.mediaType ?? 'other data'}.`
    notes.problems.push({ param: `${param}.image_url.url`, message, code: 'invalid_value' })
    return []
  }
  // The check against `imageTypes` above ensures this type.
  const mediaType = data.mediaType as Base64ImageSource['media_type']
  return [{ type: 'image', source: { type: 'base64', media_type: mediaType, data: data.base64 } }]
}

/** The document block of a file part: a PDF stays base64, a text of any type is decoded. */
function documentOf(
  { file: { file_data: url = '', file_id: id, filename: title } }: Schemas['FilePart'],
  param: string,
  { problems, warnings }: Notes,
): DocumentBlockParam[] {
  if (id !== undefined && url !== '') {
    warnings.push(dropped(`${param}.file.file_id`, id, 'Only OpenAI can read this file id.'))
  }
  const data = readDataUrl(url)
  const named = title === undefined ? {} : { title }
  if (data?.mediaType === 'application/pdf') {
    const source = { type: 'base64', media_type: data.mediaType, data: data.base64 } as const
    return [{ type: 'document', source, ...named }]
  }
  if (data?.mediaType.startsWith('text/') === true) {
    const text = Buffer.from(data.base64, 'base64').toString()
    const source = { type: 'text', media_type: 'text/plain', data: text } as const
    return [{ type: 'document', source, ...named }]
  }
  const message = 'Anthropic accepts a base64 data URL of a PDF or a text.'
  problems.push({ param: `${param}.file.file_data`, message, code: 'invalid_value' })
  return []
}

/** Places thinking blocks of the first call before the text, since Anthropic requires them first. */
function blocksOfAnswer(
  message: Answer,
  { path, upstreamModel }: { path: string; upstreamModel: string },
  notes: Notes,
): ContentBlockParam[] {
  const remedy = 'Anthropic accepts only text in assistant messages. Move it to a user message.'
  const said = textBlocksOf(onlyTexts(message, path, notes.problems, remedy), notes)
  const [first = [], ...further] = (message.tool_calls ?? []).map((call, place) =>
    blocksOfCall(call, { path: `${path}.tool_calls[${place}]`, upstreamModel }, notes),
  )
  const thought = first.filter(({ type }) => type !== 'tool_use')
  return [...thought, ...said, ...first.slice(thought.length), ...further.flat()]
}

function blocksOfCall(
  call: ToolCall,
  { path, upstreamModel }: { path: string; upstreamModel: string },
  { problems }: Notes,
): ContentBlockParam[] {
  const { name } = call.function
  const input = argumentsOf(call, path, problems)
  const thoughts = thoughtsOfCall(call, upstreamModel)
  if (thoughts === undefined) {
    const message = 'The thinking blocks are malformed. Send them back as Anthropic returned them.'
    problems.push({ param: `${path}.${thoughtsPath}`, message, code: 'invalid_value' })
  }
  if (input === undefined || thoughts === undefined) return []
  return [...thoughts, { type: 'tool_use', id: callIdFor(callIds, call.id), name, input }]
}

function resultOf(
  message: Extract<Message, { role: 'tool' }>,
  path: string,
  notes: Notes,
): ToolResultBlockParam {
  const blocks = blocksOf(message, path, notes)
  return {
    type: 'tool_result',
    tool_use_id: callIdFor(callIds, message.tool_call_id),
    ...(blocks.length > 0 ? { content: blocks } : {}),
  }
}

type Marked = { cache_control?: components['schemas']['CacheControl'] }

/**
 * Marks the end of a cached prompt prefix. The lifetime is always five minutes, since the catalog
 * has no price for an hour; `1h` is adjusted with a warning.
 */
export function cachedUpTo({ cache_control: mark }: Marked, param: string, notes: Notes) {
  if (mark === undefined) return {}
  if (mark.ttl === '1h') {
    const reason = 'Prompts are cached for 5 minutes only.'
    const path = param === '' ? 'cache_control.ttl' : `${param}.cache_control.ttl`
    notes.warnings.push({ param: path, requested: '1h', applied: '5m', reason })
  }
  return { cache_control: { type: 'ephemeral' as const } }
}
