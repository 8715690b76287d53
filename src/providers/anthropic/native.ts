import type {
  Message,
  MessageCountTokensParams,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages'
import type { ChatRequest, NativeAnswer, NativeRequest } from '../../core/chat/chat.ts'
import type { Target } from '../../core/model.ts'
import { itemsOf, membersOf, textIn, type Members } from '../../core/any-json.ts'
import type { NativeReader } from '../wire/native-stream.ts'
import { brokenOff, parseEvent } from '../wire/translated-stream.ts'
import { withCounted } from '../wire/web-search.ts'
import { beginningOf, present, type Reading } from './chat-stream.ts'
import { bodyFailure, finishReasonOf, readUsage } from './answer.ts'
import { isCharged } from './search.ts'
import { thoughtsOfCall } from './thoughts.ts'

type Seal = NativeRequest['seal']

/** A lifetime of cached prompts for which the catalog has no price. */
const unpriced = '"ttl":"1h"'

/** The body of a request in this API, with the signatures of the vendor. */
export function nativeBody(
  { body, seal }: NativeRequest,
  { upstreamModel: model }: Target,
): Members {
  const messages = itemsOf(body['messages']).flatMap((message) => {
    const { role, content } = membersOf(message)
    if (role !== 'assistant' || !Array.isArray(content)) return [message]
    const blocks = withoutForeign(content.map(membersOf), seal).flatMap((block) =>
      opened(block, seal, model),
    )
    return blocks.length === 0 ? [] : [{ ...membersOf(message), content: blocks }]
  })
  return { ...body, model, messages }
}

/** The body of a request as JSON; undefined if the request has an option without a price. */
export function writeNative(
  native: NativeRequest,
  { max_tokens }: ChatRequest,
  target: Target,
): string | undefined {
  const text = JSON.stringify({ ...nativeBody(native, target), max_tokens })
  return text.includes(unpriced) ? undefined : text
}

/** The members of a request that its token count takes (MessageCountTokensParams of Anthropic's SDK). */
export function countedOf({
  messages,
  model,
  cache_control,
  output_config,
  system,
  thinking,
  tool_choice,
  tools,
}: Partial<Record<keyof MessageCountTokensParams, unknown>>): object {
  return { model, messages, system, tools, tool_choice, thinking, output_config, cache_control }
}

/** The member of a block of reasoning that only the vendor can read. */
const proofs: Readonly<Record<string, string>> = {
  thinking: 'signature',
  redacted_thinking: 'data',
}

/** The member of a result and of a citation that only the vendor can read. */
const found: Readonly<Record<string, string>> = {
  web_search_result: 'encrypted_content',
  web_search_result_location: 'encrypted_index',
}

/**
 * The blocks of an answer with what the vendor has found for the account. A search of another account, gateway or
 * vendor is left out with its result and its citations: the vendor refuses a result that it did not write.
 */
function withoutForeign(blocks: readonly Members[], seal: Seal): Members[] {
  const foreign = new Set<unknown>()
  const known = blocks.map((block) => {
    const { type, content, citations, tool_use_id: id } = block
    if (type === 'web_search_tool_result' && Array.isArray(content)) {
      const results = content.map((item) => unsealed(membersOf(item), seal))
      // A list without results has nothing that shows who wrote it.
      if (results.length === 0 || results.includes(undefined)) foreign.add(id)
      return { ...block, content: results }
    }
    if (type !== 'text' || !Array.isArray(citations)) return block
    const { citations: _citations, ...text } = block
    const cited = citations.flatMap((item) => unsealed(membersOf(item), seal) ?? [])
    return cited.length === 0 ? text : { ...text, citations: cited }
  })
  const results = new Set(known.map(({ tool_use_id: id }) => id))
  return known.filter(({ type, id, tool_use_id: of }) => {
    if (type === 'server_tool_use') return results.has(id) && !foreign.has(id)
    return type !== 'web_search_tool_result' || !foreign.has(of)
  })
}

/** A result or a citation for the vendor; undefined if it is foreign. Other items stay. */
function unsealed(item: Members, seal: Seal): Members | undefined {
  const member = found[String(item['type'])]
  if (member === undefined) return item
  const extra = seal.open(textIn(item[member]) ?? '')
  const proof = textIn(membersOf(extra?.['anthropic'])['found'])
  return proof === undefined ? undefined : { ...item, [member]: proof }
}

function sealedFound(value: unknown, seal: Seal): Members {
  const item = membersOf(value)
  const member = found[String(item['type'])]
  if (member === undefined) return item
  return { ...item, [member]: seal.close({ anthropic: { found: item[member] } }) }
}

function withSealedFound(block: Members, seal: Seal): Members {
  const { type, content, citations } = block
  if (type === 'web_search_tool_result' && Array.isArray(content)) {
    return { ...block, content: content.map((item) => sealedFound(item, seal)) }
  }
  if (type !== 'text' || !Array.isArray(citations)) return block
  return { ...block, citations: citations.map((item) => sealedFound(item, seal)) }
}

/** A block of an earlier answer. Reasoning is left out unless the model made it for the account. */
function opened(block: Members, seal: Seal, model: string): object[] {
  const member = proofs[String(block['type'])]
  if (member === undefined) return [block]
  const extra = seal.open(textIn(block[member]) ?? '')
  if (extra === undefined) return []
  const { model: thinker, proof } = membersOf(extra['anthropic'])
  if (thinker === model && proof !== undefined) return [{ ...block, [member]: proof }]
  // Signed by the translation of an answer, with the blocks themselves.
  return thoughtsOfCall({ extra_content: extra }, model) ?? []
}

/** Signs the vendor's data for the account, so that only the account can send it back. */
function sealed(proof: unknown, seal: Seal, model: string): string {
  return seal.close({ anthropic: { model, proof } })
}

/** A message of the vendor as the caller gets it. */
export function nativeAnswer(message: Message, seal: Seal, model: string): NativeAnswer {
  const content = message.content.map((block) => {
    const member = proofs[block.type]
    if (member === undefined) return withSealedFound(membersOf(block), seal)
    return { ...block, [member]: sealed(membersOf(block)[member], seal, model) }
  })
  return { ...message, content }
}

/**
 * Texts in events at the beginning and the end of a message, in errors, and in data to sign. The text of an answer
 * cannot match, since its quotation marks are escaped.
 */
const marks = [
  '"usage":',
  '"message_stop"',
  '"error"',
  '"signature_delta"',
  '"redacted_thinking"',
  '"web_search_tool_result"',
  '"citations_delta"',
].map((text) => Buffer.from(text))

/** Reads the events of an answer for a caller of this API (docs/messages.md#native-requests). */
export function nativeReader(options: Reading & { seal: Seal }): NativeReader {
  const { upstreamModel, seal, texts, tokensMax } = options
  let { identity, usage } = beginningOf({}, options)
  let end: Members | undefined
  let isOver = false
  let searches = 0
  const counted = () => readUsage(usage, tokensMax, texts)
  return {
    marks,
    read: (data) => {
      const event = parseEvent<RawMessageStreamEvent | { type: 'error' }>(data)
      switch (event.type) {
        case 'message_start':
          ;({ identity, usage } = beginningOf(event.message, options))
          return undefined
        case 'content_block_start': {
          const { content_block: block } = event
          if (block.type === 'web_search_tool_result') {
            if (isCharged(membersOf(block))) searches++
            const content_block = withSealedFound(membersOf(block), seal)
            return JSON.stringify({ ...event, content_block })
          }
          if (block.type !== 'redacted_thinking') return data
          const content_block = { ...block, data: sealed(block.data, seal, upstreamModel) }
          return JSON.stringify({ ...event, content_block })
        }
        case 'content_block_delta': {
          const { delta } = event
          if (delta.type === 'citations_delta') {
            const citation = sealedFound(delta.citation, seal)
            return JSON.stringify({ ...event, delta: { ...delta, citation } })
          }
          if (delta.type !== 'signature_delta') return data
          const signature = sealed(delta.signature, seal, upstreamModel)
          return JSON.stringify({ ...event, delta: { ...delta, signature } })
        }
        case 'message_delta': {
          const { delta, usage: more, ...rest } = event
          usage = { ...usage, ...present(more) }
          end = { ...rest, ...delta }
          return undefined
        }
        case 'message_stop':
          isOver = true
          return undefined
        case 'error':
          throw bodyFailure(event, texts)
        default:
          return data
      }
    },
    finish: () => {
      if (end === undefined) throw brokenOff()
      const finishReason = finishReasonOf(textIn(end['stop_reason']))
      return { usage: counted(), identity, native: { answer: end, finishReason } }
    },
    usageSoFar: () => withCounted(counted(), searches),
    isOver: () => isOver,
  }
}
