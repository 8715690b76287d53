import type { FinishReason } from '../../core/chat/chat.ts'
import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { prune } from '../../core/prune.ts'
import { failureOf, type Complaint } from '../transport/complaint.ts'
import { failureReader, isErrorStatus, kindOfStatus } from '../transport/http-failure.ts'
import type { PieceReader, UpstreamHead } from '../transport/upstream.ts'
import { itemsOf, membersOf, textIn, type Members } from '../../core/any-json.ts'
import type { Usage } from '../../core/money/price.ts'
import { countIn, usageOf, type TokensMax } from '../wire/token-count.ts'

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
  groundingMetadata?: unknown
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
  // Only Vertex AI sends this reason.
  'MODEL_ARMOR',
])
/** Finish reasons of complete answers. An empty answer with any other reason is a failure. */
const ended: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  CONTINUATION: 'length',
}

/** Upper bound of candidate indexes; no model returns as many answers. */
const choicesMax = 128

/** The index that a candidate states, or else its `place`. Throws a ProviderFailure. */
export function choiceIndex(candidate: WireCandidate, place: number): number {
  const { index = place } = candidate
  if (Number.isSafeInteger(index) && index >= 0 && index < choicesMax) return index
  throw new ProviderFailure('malformed', 'The answer has a choice with an invalid index.')
}

/** Throws a ProviderFailure `content_policy` when the prompt was blocked. */
export function refuseBlocked({ promptFeedback }: WireAnswer, texts: VendorTexts): void {
  if (promptFeedback?.blockReason === undefined) return
  const { blockReason, blockReasonMessage } = promptFeedback
  throw refusedFor(blockReasonMessage ?? blockReason, texts)
}

/**
 * The OpenAI `finish_reason` of a candidate. Throws a ProviderFailure if the vendor ended it with
 * no output: another route may succeed.
 */
export function finishReasonOf(
  { finishReason = '' }: WireCandidate,
  choice: { anything: boolean; calls: number },
): FinishReason {
  if (blocked.has(finishReason)) return 'content_filter'
  const reason = Object.hasOwn(ended, finishReason) ? ended[finishReason]! : undefined
  if (reason === undefined && !choice.anything) {
    throw new ProviderFailure('malformed', 'The provider gave no answer.')
  }
  if (reason === 'length') return reason
  return choice.calls > 0 ? 'tool_calls' : 'stop'
}

/** Why a candidate was blocked; undefined if it was not. */
export function refusalOf(
  { finishReason = '', finishMessage }: WireCandidate,
  texts: VendorTexts,
): string | undefined {
  if (!blocked.has(finishReason)) return undefined
  return texts.words(finishMessage) || `The provider blocked the answer (${finishReason}).`
}

/** The failure of a request that is refused for its content; `reason` is the vendor's text. */
export function refusedFor(reason: unknown, texts: VendorTexts): ProviderFailure {
  const why = texts.words(reason).replace(/\.$/, '')
  const message = `The provider refused the request as unsafe${why && `: ${why}`}.`
  return new ProviderFailure('content_policy', message, { status: 200 })
}

/** The place of a call in an answer, and the provider that gave the answer. */
export type CallPlace = { answer: string; choice: number; call: number; provider: string }

/** A call in OpenAI's form, with the thought signature that must come back with its result. */
export function toolCallOf(
  { functionCall, thoughtSignature }: WirePart,
  { provider, ...place }: CallPlace,
  texts: VendorTexts,
) {
  const { id, name, args = {} } = functionCall ?? {}
  if (!name)
    throw new ProviderFailure('malformed', 'The provider returned a tool call without a name.')
  return {
    // A generated id must be unique within the conversation.
    id: texts.name(id) ?? `call_${place.answer}_${place.choice}_${place.call}`,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(args) },
    ...(thoughtSignature === undefined
      ? {}
      : { extra_content: { google: { thought_signature: thoughtSignature, provider } } }),
  }
}

/** Log probabilities in OpenAI's form; null if the vendor sent none. */
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

/** Reads an error answer and throws a ProviderFailure (docs/vendors.md#gemini-errors). */
export function readFailure(head: UpstreamHead, texts: VendorTexts): PieceReader<never> {
  return failureReader(head, complaintOf, kindOf, texts)
}

/** The failure in the `error` of a stream event or of the body of a 200. */
export function bodyFailure(body: unknown, texts: VendorTexts): ProviderFailure {
  const complaint = complaintOf(body)
  const code = Number(membersOf(errorIn(body))['code'])
  const status = isErrorStatus(code) ? code : 500
  return failureOf(kindOf(status, complaint), complaint, { status, texts, inBand: true })
}

/** Some proxies of the vendor wrap the error in a list. */
function errorIn(body: unknown): unknown {
  return membersOf(Array.isArray(body) ? body[0] : body)['error']
}

function complaintOf(body: unknown): Complaint {
  const error = errorIn(body)
  const { message, status, details } = membersOf(error)
  const seconds = Number.parseFloat(firstText(details, 'retryDelay') ?? '')
  return prune({
    message: textIn(message) ?? textIn(error),
    code: firstText(details, 'reason') ?? textIn(status),
    retryAfterSeconds: seconds >= 0 ? seconds : undefined,
  })
}

function firstText(details: unknown, name: string): string | undefined {
  return itemsOf(details)
    .map((detail) => textIn(membersOf(detail)[name]))
    .find((text) => text !== undefined)
}

function kindOf(status: number, { code }: Complaint): FailureKind {
  // An invalid key is answered with 400, which is not the caller's fault.
  if (code === 'API_KEY_INVALID') return 'credentials'
  // Caused by the operator's account (country or billing), not by the caller.
  if (code === 'FAILED_PRECONDITION') return 'credentials'
  return kindOfStatus(status)
}

/** Gemini's token counts, not validated; in a stream they grow from event to event. */
export type WireUsage = Members

/** Canonical token counts (docs/vendors.md#gemini-answer); undefined if none are plausible. */
export function readUsage(wire: object | undefined, most: TokensMax): Usage | undefined {
  const counts = membersOf(wire)
  const { promptTokenCount, toolUsePromptTokenCount, thoughtsTokenCount } = counts
  return usageOf(
    {
      input: [promptTokenCount, toolUsePromptTokenCount],
      output: [counts['candidatesTokenCount'], thoughtsTokenCount],
      cachedInputTokens: counts['cachedContentTokenCount'],
      reasoningTokens: thoughtsTokenCount,
      audioInputTokens: tokensOf('AUDIO', counts['promptTokensDetails']),
      imageInputTokens: tokensOf('IMAGE', counts['promptTokensDetails']),
      imageOutputTokens: tokensOf('IMAGE', counts['candidatesTokensDetails']),
      audioOutputTokens: tokensOf('AUDIO', counts['candidatesTokensDetails']),
    },
    most,
  )
}

/** The token count of a modality. An invalid count is returned unchanged, for usageOf to detect. */
function tokensOf(kind: string, details: unknown): unknown {
  const listed = itemsOf(details)
    .map(membersOf)
    .filter(({ modality }) => modality === kind)
    .map(({ tokenCount }) => tokenCount)
  const invalid = listed.find((count) => countIn(count) !== count)
  return invalid ?? listed.reduce<number>((sum, count) => sum + (countIn(count) ?? 0), 0)
}
