import type { components } from '../../../generated/types.ts'
import type { ChatRequest, OnlyNative } from '../../core/chat/chat.ts'
import { compactionIn, type ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'
import { GatewayError } from '../../core/error.ts'
import { ProviderFailure, UnknownOutcome } from '../../core/failure.ts'
import { isKnownItem, type OutputItem, type Place } from './item.ts'

type Schemas = components['schemas']
type InputItem = Schemas['ResponseInputItem']

/** What the model reads in place of a trigger (docs/behaviour.md#compaction). */
const instruction = `Summarize the whole conversation above, so that it can go on with your summary in its place. The messages of the user may be kept, and everything else will be gone.

Write down, as far as they occur:
- what the user wants, with every requirement, limit and preference, in the user's own words where they matter
- what was done, decided and found out, with exact names, paths, commands, numbers, addresses and identifiers
- what tools returned that is needed again, and errors with their causes
- the state of the work now, open questions, and the next steps

Do not answer the conversation, do not continue the work, and do not call tools. Write only the summary.`

/** Begins the message with a summary. */
const summaryHead =
  'The conversation before this message was replaced by a summary. Continue from it, and do not do again what it describes as done.\n\n'

/** Whether the last item is a trigger. Throws a GatewayError for a trigger elsewhere, or without a conversation. */
export function isCompacting(items: readonly InputItem[]): boolean {
  const at = items.findIndex((item) => 'type' in item && item.type === 'compaction_trigger')
  if (at < 0) return false
  if (at > 0 && at === items.length - 1) return true
  const text = 'An item `compaction_trigger` must be the last one, after the conversation.'
  throw new GatewayError('invalid_value', text, { param: `input[${at}]` })
}

/** Asks for a summary, in the last message of the user or in a new one. */
export function askForSummary(messages: ChatRequest['messages']): void {
  const last = messages.at(-1)
  if (last?.role !== 'user') return void messages.push({ role: 'user', content: instruction })
  const { content } = last
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  last.content = [...parts, { type: 'text', text: instruction }]
}

/** Text of users, about 64,000 tokens, that OpenAI keeps beside a compaction. */
const keptLengthMax = 256_000

/**
 * Whether an item still counts: of those before the last compaction the tools, settings and messages that
 * are not the model's, of the user only the newest.
 */
export function currentIn(items: readonly InputItem[]): (item: InputItem) => boolean {
  const last = items.findLastIndex((item) => 'type' in item && item.type === 'compaction')
  if (last < 0) return () => true
  let left = keptLengthMax
  const replaced = items
    .slice(0, last)
    .toReversed()
    .filter((item) => {
      if ('type' in item && settings.has(item.type)) return false
      if (!isKnownItem(item) || !('role' in item) || item.role === 'assistant') return true
      if (item.role !== 'user') return false
      // A known item with a role is a message.
      left -= lengthOf(item.content as Schemas['ResponseMessageContent'])
      return left < 0
    })
  const gone = new Set(replaced)
  return (item) => !gone.has(item)
}

/** Items that count although a compaction follows. */
const settings = new Set(['additional_tools', 'configuration_update'])

function lengthOf(content: Schemas['ResponseMessageContent']): number {
  if (typeof content === 'string') return content.length
  return content.reduce((sum, part) => sum + ('text' in part ? part.text.length : 0), 0)
}

/** The text that the model reads of a compaction. Throws a GatewayError for one of another origin. */
export function readCompaction(
  { encrypted_content: sealed }: Schemas['ResponseCompaction'],
  param: string,
  open: ThoughtSeal['open'],
): { text: string; only?: OnlyNative } {
  const found = compactionIn(open(sealed))
  if (found === undefined) {
    const text =
      'The gateway did not write this compaction for this account. Send the items that it replaced, or begin a new conversation.'
    throw new GatewayError('invalid_value', text, { param: `${param}.encrypted_content` })
  }
  const { providerId, content: text } = found
  if (providerId === null) return { text }
  const message = `The provider '${providerId}' made this compaction, and no other can read it. Continue with the model that made it, or send the items that it replaced.`
  // Limits and reservations use only the length of the content.
  return { text, only: { providerId, problem: { param, message } } }
}

/** Writes a summary as an item. Throws a GatewayError if there is none. */
export function writeSummary(
  summary: string,
  { index: output_index, suffix, emit }: Place,
  seal: ThoughtSeal['close'],
): OutputItem {
  if (summary.trim() === '') throw noSummary()
  const id = `cmp_${suffix}`
  const item = { id, type: 'compaction' as const, encrypted_content: '' }
  emit('response.output_item.added', { output_index, item })
  const compaction = { providerId: null, id, content: summaryHead + summary }
  return { ...item, encrypted_content: seal({ compaction }) }
}

/** The answer is paid, so it is not requested again. */
export function noSummary(): GatewayError {
  const text = 'The model wrote no summary of the conversation. Try another model.'
  const cause = new UnknownOutcome(new ProviderFailure('malformed', text))
  return new GatewayError('provider_error', text, { cause })
}
