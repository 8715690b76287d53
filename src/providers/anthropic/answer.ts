import type { FinishReason } from '../../core/chat/chat.ts'
import type { Usage } from '../../core/money/price.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { membersOf, textIn, type Members } from '../../core/any-json.ts'
import { usageOf, withTier, type TokensMax } from '../wire/token-count.ts'
import { withSearches } from '../wire/web-search.ts'
import type { FailureKind, ProviderFailure } from '../../core/failure.ts'
import { prune } from '../../core/prune.ts'
import { failureOf, type Complaint } from '../transport/complaint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import type { PieceReader, UpstreamHead } from '../transport/upstream.ts'

/** Anthropic's token counts, not validated; the last event of a stream repeats some of them. */
export type WireUsage = Members

/** Adds the cached input, which Anthropic counts separately (docs/vendors.md#anthropic-answer). */
export function readUsage(
  wire: object | undefined,
  most: TokensMax,
  texts: VendorTexts,
): Usage | undefined {
  const counts = membersOf(wire)
  const { cache_read_input_tokens: cached, cache_creation_input_tokens: written } = counts
  const usage = usageOf(
    {
      input: [counts['input_tokens'], cached, written],
      output: [counts['output_tokens']],
      cachedInputTokens: cached,
      cacheWriteTokens: written,
      reasoningTokens: membersOf(counts['output_tokens_details'])['thinking_tokens'],
    },
    most,
  )
  const searches = membersOf(counts['server_tool_use'])['web_search_requests']
  return usage && withSearches(withTier(usage, counts['service_tier'], texts), searches)
}

/** Reads an error answer and throws a ProviderFailure (docs/vendors.md#anthropic-errors). */
export function readFailure(head: UpstreamHead, texts: VendorTexts): PieceReader<never> {
  return failureReader(head, complaintOf, kindOf, texts)
}

/** The failure in an `error` event of a stream, or in the body of a 200. */
export function bodyFailure(body: unknown, texts: VendorTexts): ProviderFailure {
  const complaint = complaintOf(body)
  const status = 500
  return failureOf(kindOf(status, complaint), complaint, { status, texts, inBand: true })
}

function complaintOf(body: unknown): Complaint {
  const { error } = membersOf(body)
  const { message, type } = membersOf(error)
  return prune({ message: textIn(message) ?? textIn(error), type: textIn(type) })
}

const kinds: Readonly<Record<string, FailureKind>> = {
  invalid_request_error: 'rejected',
  authentication_error: 'credentials',
  permission_error: 'credentials',
  billing_error: 'out_of_credit',
  not_found_error: 'not_found',
  request_too_large: 'too_large',
  rate_limit_error: 'rate_limited',
  timeout_error: 'timeout',
  api_error: 'overloaded',
  overloaded_error: 'overloaded',
}

function kindOf(status: number, { type = '', message = '' }: Complaint): FailureKind {
  // An account without credit is answered with 400, which is not the caller's fault.
  if (message.includes('credit balance is too low')) return 'out_of_credit'
  return (Object.hasOwn(kinds, type) ? kinds[type] : undefined) ?? kindOfStatus(status)
}

const reasons: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** The OpenAI `finish_reason` of a `stop_reason` (docs/vendors.md#anthropic-answer). */
export function finishReasonOf(reason: string | null | undefined): FinishReason {
  return Object.hasOwn(reasons, reason ?? '') ? reasons[reason!]! : 'stop'
}

/** The message of a refusal: the vendor's explanation, or else one sentence of the gateway. */
export function refusalOf(details: unknown, texts: VendorTexts): string {
  const { explanation, category } = membersOf(details)
  const why = texts.words(category)
  return texts.words(explanation) || `The provider refused to answer${why ? ` (${why})` : ''}.`
}
