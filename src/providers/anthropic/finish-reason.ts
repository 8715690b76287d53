import type { VendorTexts } from '../transport/vendor-texts.ts'
import { membersOf } from '../../core/any-json.ts'

const reasons: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** The OpenAI `finish_reason` of a `stop_reason` (docs/vendors.md#anthropic-answer). */
export function finishReasonOf(reason: string | null | undefined): string {
  return Object.hasOwn(reasons, reason ?? '') ? reasons[reason!]! : 'stop'
}

/** The message of a refusal: the vendor's explanation, or else one sentence of the gateway. */
export function refusalOf(details: unknown, texts: VendorTexts): string {
  const { explanation, category } = membersOf(details)
  const why = texts.words(category)
  return texts.words(explanation) || `The provider refused to answer${why ? ` (${why})` : ''}.`
}
