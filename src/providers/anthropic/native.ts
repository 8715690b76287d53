import type {
  Message,
  MessageCountTokensParams,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages'
import type { ChatRequest, NativeAnswer, NativeRequest } from '../../core/chat/chat.ts'
import type { Target } from '../../core/model.ts'
import { itemsOf, membersOf, textIn, type Members } from '../wire/any-json.ts'
import type { NativeReader } from '../wire/native-stream.ts'
import { brokenOff, parseEvent } from '../wire/translated-stream.ts'
import { beginningOf, present, type StreamOptions } from './chat-stream.ts'
import { bodyFailure } from './failure.ts'
import { finishReasonOf } from './finish-reason.ts'
import { thoughtsOfCall } from './thoughts.ts'
import { readUsage } from './usage.ts'

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
    const blocks = content.flatMap((block) => opened(membersOf(block), seal, model))
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
    if (member === undefined) return block
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
].map((text) => Buffer.from(text))

/** Reads the events of an answer for a caller of this API (docs/messages.md#native-requests). */
export function nativeReader(options: StreamOptions & { seal: Seal }): NativeReader {
  const { upstreamModel, seal, texts, tokensMax } = options
  let { identity, usage } = beginningOf({}, options)
  let end: Members | undefined
  let isOver = false
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
          if (block.type !== 'redacted_thinking') return data
          const content_block = { ...block, data: sealed(block.data, seal, upstreamModel) }
          return JSON.stringify({ ...event, content_block })
        }
        case 'content_block_delta': {
          const { delta } = event
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
    usageSoFar: counted,
    isOver: () => isOver,
  }
}
