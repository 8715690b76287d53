import { ProviderFailure } from '../../core/failure.ts'
import type { WireUsage } from './usage.ts'

export type WirePart = {
  text?: string
  thought?: boolean
  thoughtSignature?: string
  functionCall?: { id?: string; name?: string; args?: object }
}
type Token = { token?: string; logProbability?: number }
type WireLogprobs = {
  chosenCandidates?: Token[]
  topCandidates?: { candidates?: Token[] }[]
}
export type WireCandidate = {
  index?: number
  content?: { parts?: WirePart[] }
  finishReason?: string
  finishMessage?: string
  logprobsResult?: WireLogprobs
}
export type WireAnswer = {
  candidates?: WireCandidate[]
  promptFeedback?: { blockReason?: string; blockReasonMessage?: string }
  usageMetadata?: WireUsage
  modelVersion?: string
  responseId?: string
}

/** Finish reasons of blocked outputs, which come with 200 (docs/vendors.md#gemini-answer). */
export const blocked = new Set([
  'SAFETY',
  'IMAGE_SAFETY',
  'PROHIBITED_CONTENT',
  'IMAGE_PROHIBITED_CONTENT',
  'BLOCKLIST',
  'SPII',
  'RECITATION',
  'IMAGE_RECITATION',
])
/** Finish reasons of unusable answers: another route may do better. */
const failed = new Set([
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
])

/** Throws a ProviderFailure `content_policy` when the prompt was blocked. */
export function refuseBlocked({ promptFeedback }: WireAnswer): void {
  if (promptFeedback?.blockReason === undefined) return
  throw refusal(promptFeedback.blockReasonMessage ?? promptFeedback.blockReason)
}

/**
 * The OpenAI `finish_reason` of a candidate. Throws a ProviderFailure for one that was blocked or
 * unusable before it had any content, since then there is nothing to deliver.
 */
export function finishReasonOf(
  { finishReason = '', finishMessage }: WireCandidate,
  said: { anything: boolean; calls: number },
): string {
  if (blocked.has(finishReason)) {
    if (said.anything) return 'content_filter'
    throw refusal(finishMessage ?? finishReason)
  }
  if (failed.has(finishReason) && !said.anything) {
    throw new ProviderFailure('malformed', `The provider gave no answer (${finishReason}).`)
  }
  if (finishReason === 'MAX_TOKENS' || finishReason === 'CONTINUATION') return 'length'
  return said.calls > 0 ? 'tool_calls' : 'stop'
}

function refusal(reason: string): ProviderFailure {
  const message = `The provider refused the request as unsafe: ${reason}.`
  return new ProviderFailure('content_policy', message)
}

/** A call in OpenAI's form, with the thought signature that must come back with its result. */
export function toolCallOf(
  { functionCall, thoughtSignature }: WirePart,
  { responseId = 'gemini' }: WireAnswer,
  index: number,
) {
  const { id, name = '', args = {} } = functionCall ?? {}
  return {
    id: id ?? `call_${responseId}_${index}`,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(args) },
    ...(thoughtSignature === undefined
      ? {}
      : { extra_content: { google: { thought_signature: thoughtSignature } } }),
  }
}

/** Log probabilities in OpenAI's form; null when there are none. */
export function logprobsOf(wire: WireLogprobs | undefined): Record<string, unknown> | null {
  if (wire?.chosenCandidates === undefined) return null
  const entry = ({ token = '', logProbability: logprob = 0 }: Token) => ({
    token,
    logprob,
    bytes: [...Buffer.from(token)],
  })
  return {
    content: wire.chosenCandidates.map((chosen, place) => ({
      ...entry(chosen),
      top_logprobs: (wire.topCandidates?.[place]?.candidates ?? []).map(entry),
    })),
    refusal: null,
  }
}
