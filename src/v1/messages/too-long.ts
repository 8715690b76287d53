import type { ChatRequest } from '../../core/chat/chat.ts'
import { estimateInput } from '../../core/chat/estimate.ts'
import { GatewayError } from '../../core/error.ts'
import type { Model } from '../../core/model.ts'

/** Smaller numbers in a vendor's message are not counts of a whole prompt, but for example error codes. */
const tokensMin = 4000
/** A count, which is not a part of a name such as `claude-opus-4-20250514`. */
const count = /(?<![\w.-])\d[\d,]*\d(?![\w-])/g
/** Numbers that may be the limit: after a word for it, except the excess (`by 4096`), or before one. */
const limits = [
  /(?:max\w*|limit|context (?:size|length|window)|length should be \[1,)\D{0,80}?(?<!\bby )(\d[\d,]*\d)/gi,
  /(\d[\d,]*\d) (?:maximum|allowed)/gi,
]
/** Words of Anthropic for a prompt that fits without its answer; clients read them to ask for a shorter answer. */
const tooLongWithAnswer = /input length and `max_tokens` exceed context limit: \d+ \+ \d+ > \d+/

/**
 * An error of a prompt that is too long in Anthropic's words, which clients parse to compact their
 * conversation (docs/messages.md#errors). Other errors are returned unchanged.
 */
export function asTooLong(
  error: GatewayError,
  request: ChatRequest,
  model: Model | undefined,
): GatewayError {
  const { message, param, cause, progress } = error
  if (error.code !== 'context_length_exceeded' || tooLongWithAnswer.test(message)) return error
  const named = limits.flatMap((limit) => Array.from(message.matchAll(limit), ([, one]) => one!))
  // A prompt that is too long has more tokens than its limit.
  const limit = Math.min(...countsIn(named))
  const most = limit === Infinity ? model?.row.context_window : limit
  const counts = countsIn(message.match(count) ?? [])
  const tokens = Math.max(...counts.filter((one) => one > (most ?? 0)), 0)
  const text =
    most === undefined
      ? `prompt is too long. ${message}`
      : `prompt is too long: ${tokens || Math.max(estimateInput(request), most + 1)} tokens > ${most} maximum`
  const about = { cause, progress, param: param ?? undefined }
  return new GatewayError('context_length_exceeded', text, about)
}

function countsIn(numbers: readonly string[]): number[] {
  return numbers.map((text) => Number(text.replaceAll(',', ''))).filter((one) => one >= tokensMin)
}
