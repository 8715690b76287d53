import type { ChatRequest } from '../../core/chat/chat.ts'
import { estimateInput } from '../../core/chat/estimate.ts'
import { GatewayError } from '../../core/error.ts'
import type { Model } from '../../core/model.ts'

/** Smaller numbers in a vendor's message are not counts of a whole prompt. */
const tokensMin = 1000
/** A count, which is not a part of a name such as `claude-opus-4-20250514`. */
const count = /(?<![\w.-])\d[\d,]*\d(?![\w-])/g
/** The limit in the messages of OpenAI and Gemini, and of Anthropic. */
const limits = [/maximum[^\d]{0,80}?(\d[\d,]*\d)/i, /(\d[\d,]*\d) maximum/i]

/**
 * An error of a prompt that is too long in Anthropic's words, which clients parse to compact their
 * conversation (docs/messages.md#errors). Other errors are returned unchanged.
 */
export function asTooLong(
  error: GatewayError,
  request: ChatRequest,
  model: Model | undefined,
): GatewayError {
  if (error.code !== 'context_length_exceeded') return error
  const { message, param, cause, progress } = error
  const counts = (message.match(count) ?? []).map(toNumber).filter((one) => one >= tokensMin)
  const [limitText] = limits.flatMap((limit) => limit.exec(message)?.[1] ?? [])
  const most = limitText === undefined ? model?.row.context_window : toNumber(limitText)
  const asked = Math.max(...counts.filter((one) => one > (most ?? 0)), 0)
  const text =
    most === undefined
      ? `prompt is too long. ${message}`
      : `prompt is too long: ${asked || Math.max(estimateInput(request), most + 1)} tokens > ${most} maximum`
  return new GatewayError('context_length_exceeded', text, {
    cause,
    progress,
    param: param ?? undefined,
  })
}

function toNumber(text: string): number {
  return Number(text.replaceAll(',', ''))
}
