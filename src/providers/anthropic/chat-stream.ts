import type {
  Message,
  RawMessageDeltaEvent,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages'
import type { ChatRequest, ChunkIdentity } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { membersOf } from '../../core/any-json.ts'
import type { TokensMax } from '../wire/token-count.ts'
import { callIdOf, callsMax, identityOf } from '../wire/ids.ts'
import { tooLarge } from '../transport/answer-failure.ts'
import {
  brokenOff,
  chunkWriter,
  parseEvent,
  toolDelta,
  type ChunkWriter,
  type Translator,
} from '../wire/translated-stream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { withCounted } from '../wire/web-search.ts'
import { bodyFailure, finishReasonOf, readUsage, refusalOf, type WireUsage } from './answer.ts'
import { searchReader } from './search.ts'
import { thoughtIn, withThoughts, type Thought } from './thoughts.ts'

type WireEvent = RawMessageStreamEvent | { type: 'ping' } | { type: 'error' }
type BlockEvent = Extract<
  WireEvent,
  { type: 'content_block_start' | 'content_block_delta' | 'content_block_stop' }
>

/** Matches most events of a stream: their JSON string is copied without being parsed. */
const textDelta =
  /^\{"type":"content_block_delta","index":\d+,"delta":\{"type":"text_delta","text":("[^"\\]*(?:\\.[^"\\]*)*")\}\s*\}\s*$/

/** What reading an answer needs besides its bytes. */
export type Reading = {
  request: ChatRequest
  createdSeconds: number
  /** The model name to report if the vendor sends none. */
  upstreamModel: string
  texts: VendorTexts
  answerBytesMax: number
  tokensMax: TokensMax
}

/** Translates Anthropic's events to chunks (docs/vendors.md#anthropic-stream). */
export function translator(options: Reading): Translator {
  const { upstreamModel, texts, answerBytesMax, tokensMax } = options
  let { identity, usage } = beginningOf({}, options)
  let writer: ChunkWriter = chunkWriter(identity)
  let finished = false
  let over = false
  const readBlock = blockReader({ bytesMax: answerBytesMax, upstreamModel, texts })
  const searches = options.request.web_search_options == null ? undefined : searchReader(texts)
  const delta = (json: string | undefined) => (json === undefined ? '' : writer.delta(0, json))
  return {
    read: (data) => {
      // Citations name places in the text, so its length must be known.
      const text = searches ? null : textDelta.exec(data)
      if (text !== null) return writer.delta(0, `{"content":${text[1]}}`)
      const event = parseEvent<WireEvent>(data)
      switch (event.type) {
        case 'message_start': {
          if (writer.hasBegun(0)) return ''
          ;({ identity, usage } = beginningOf(event.message, options))
          writer = chunkWriter(identity)
          return ''
        }
        case 'content_block_start':
        case 'content_block_delta':
        case 'content_block_stop': {
          const found = searches?.read(membersOf(event)) ?? []
          return [...found.map((one) => JSON.stringify(one)), readBlock(event)].map(delta).join('')
        }
        case 'message_delta':
          usage = { ...usage, ...present(event.usage) }
          if (event.delta.stop_reason === null) return ''
          finished = true
          return (
            (searches?.pending() ?? []).map((one) => delta(JSON.stringify(one))).join('') +
            writeEnd(writer, event.delta, texts)
          )
        case 'message_stop':
          over = true
          return ''
        case 'error':
          throw bodyFailure(event, texts)
        default:
          return ''
      }
    },
    finish: () => {
      if (!finished) throw brokenOff()
      return { usage: readUsage(usage, tokensMax, texts), identity }
    },
    usageSoFar: () => withCounted(readUsage(usage, tokensMax, texts), searches?.counted() ?? 0),
    isOver: () => over,
  }
}

/** The identity and the first counts of a message. Compatible servers omit the id and the model. */
export function beginningOf(
  message: Partial<Message>,
  options: Reading,
): { identity: ChunkIdentity; usage: WireUsage } {
  return { identity: identityOf(message, options), usage: membersOf(message.usage) }
}

function writeEnd(
  writer: ChunkWriter,
  delta: RawMessageDeltaEvent.Delta,
  texts: VendorTexts,
): string {
  const { stop_reason: reason, stop_details: details } = delta
  const refusal =
    reason === 'refusal'
      ? writer.delta(0, `{"refusal":${JSON.stringify(refusalOf(details, texts))}}`)
      : ''
  return refusal + writer.finish(0, finishReasonOf(reason))
}

type BlockOptions = { bytesMax: number; upstreamModel: string; texts: VendorTexts }

/** Translates block events to JSON deltas; undefined for events without an OpenAI counterpart. */
function blockReader({
  bytesMax,
  upstreamModel,
  texts,
}: BlockOptions): (event: BlockEvent) => string | undefined {
  const tools = new Map<number, { call: number; empty: boolean }>()
  const thoughts = thoughtCollector(bytesMax)
  return (event) => {
    thoughts.read(event)
    const tool = tools.get(event.index)
    if (event.type === 'content_block_stop') {
      // Sends `{}` for empty arguments, since clients parse arguments as JSON.
      if (tool?.empty !== true) return undefined
      return toolDelta({ index: tool.call, function: { arguments: '{}' } })
    }
    if (event.type === 'content_block_start') {
      const block = event.content_block
      if (block.type === 'text') return member('content', block.text)
      if (block.type !== 'tool_use') return undefined
      if (tools.size >= callsMax) throw tooLarge()
      const index = tools.size
      tools.set(event.index, { call: index, empty: true })
      const { name } = block
      const call = {
        index,
        id: callIdOf(block.id, texts),
        type: 'function',
        function: { name, arguments: '' },
      }
      return toolDelta(withThoughts(call, thoughts.take(), upstreamModel))
    }
    const { delta } = event
    if (delta.type === 'text_delta') return member('content', delta.text)
    if (delta.type === 'thinking_delta') return member('reasoning_content', delta.thinking)
    if (delta.type !== 'input_json_delta' || tool === undefined) return undefined
    if (delta.partial_json === '') return undefined
    tool.empty = false
    return toolDelta({ index: tool.call, function: { arguments: delta.partial_json } })
  }
}

/** Collects thinking blocks until the next tool call carries them to the caller. */
function thoughtCollector(bytesMax: number) {
  let thoughts: Thought[] = []
  let length = 0
  return {
    read: (event: BlockEvent) => {
      if (event.type === 'content_block_start') {
        const thought = thoughtIn(event.content_block)
        if (thought !== undefined) thoughts.push(thought)
      }
      const last = thoughts.at(-1)
      if (event.type !== 'content_block_delta' || last?.type !== 'thinking') return
      const { delta } = event
      if (delta.type === 'signature_delta') last.signature += delta.signature
      if (delta.type !== 'thinking_delta') return
      last.thinking += delta.thinking
      length += delta.thinking.length
      if (length > bytesMax) throw new ProviderFailure('malformed', 'The answer is too large.')
    },
    take: () => {
      const taken = thoughts
      thoughts = []
      return taken
    },
  }
}

function member(name: 'content' | 'reasoning_content', text: string): string | undefined {
  return text === '' ? undefined : `{"${name}":${JSON.stringify(text)}}`
}

/** Drops null counts, so that the last event does not overwrite counts of the first event. */
export function present(usage: unknown): WireUsage {
  return Object.fromEntries(Object.entries(membersOf(usage)).filter(([, count]) => count !== null))
}
