import { FinishReasonValues } from '../../../generated/client-values.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { isMembers, type Members } from '../../core/any-json.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { answerId } from '../wire/ids.ts'
import { openAiTier } from '../wire/token-count.ts'
import type { ChunkIdentity, FinishReason } from '../../core/chat/chat.ts'

/** Throws the ProviderFailure `malformed` for an answer of an unexpected form. */
export function malformed(): never {
  throw new ProviderFailure('malformed', "The provider's answer has an unexpected form.")
}

/** The members of an object. Throws a ProviderFailure for anything else. */
export function readMembers(value: unknown): Members {
  return isMembers(value) ? value : malformed()
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Upper bound of choices; no vendor returns as many. */
const choicesMax = 128

/** The choices of an answer. Throws a ProviderFailure. */
export function readChoices(choices: unknown): readonly unknown[] {
  return Array.isArray(choices) && choices.length <= choicesMax ? choices : malformed()
}

export function isChoiceIndex(value: unknown): value is number {
  return isIndex(value) && value < choicesMax
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

/**
 * Members with the content of a model's answer, which pass unchanged; other members are cleaned
 * (docs/vendors.md#what-passes).
 */
export const messageContent: ReadonlySet<string> = new Set([
  'content',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'refusal',
  'annotations',
  'images',
  'audio',
  'parsed',
  'tool_calls',
  'function_call',
])
export const choiceContent: ReadonlySet<string> = new Set([
  'index',
  'message',
  'delta',
  'logprobs',
  'finish_reason',
])
/** Content members of a tool call; `extra_content` may carry signed thoughts. */
export const callContent: ReadonlySet<string> = new Set([
  'index',
  'id',
  'type',
  'function',
  'custom',
  'extra_content',
])
/** Content members of an answer or a chunk: the choices, members that are read separately, and padding. */
const answerContent: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'obfuscation',
  'p',
  // The sources of an answer with searches.
  'citations',
  'search_results',
])

/** Cleans the members next to the choices; returns the same object if nothing changes. */
export function cleanOuterMembers(chunk: Members, texts: VendorTexts): Members {
  const clean = texts.members(chunk, answerContent)
  const { service_tier: tier, system_fingerprint: print, ...rest } = clean
  const own = openAiTier(tier)
  const isPrint = typeof print === 'string'
  if (own === tier && (isPrint || print === undefined)) return clean
  const known = own === undefined ? {} : { service_tier: own }
  return { ...rest, ...known, ...(isPrint ? { system_fingerprint: print } : {}) }
}

/** Members that OpenAI omits where other vendors send null. */
const neverNull = ['annotations', 'function_call', 'images', 'audio']

/** Removes nulls that OpenAI never sends; returns the same object if nothing changes. */
export function withoutNulls(members: Members): Members {
  if (neverNull.every((name) => members[name] !== null)) return members
  const isKept = ([name, value]: [string, unknown]) => value !== null || !neverNull.includes(name)
  return Object.fromEntries(Object.entries(members).filter(isKept))
}

/** Date and model for answers that do not state them, and the filter for the vendor's names. */
export type Naming = { fallback: Omit<ChunkIdentity, 'id'>; texts: VendorTexts }

function isDate(seconds: unknown): seconds is number {
  return typeof seconds === 'number' && seconds >= 0 && seconds <= Number.MAX_SAFE_INTEGER
}

/** The id, date and model of an answer; a missing id is generated, and `fallback` has the others. */
export function completeIdentity(chunk: Members, { fallback, texts }: Naming): ChunkIdentity {
  const { created } = chunk
  return {
    id: answerId(chunk['id'], texts),
    created: isDate(created) ? Math.floor(created) : fallback.created,
    model: texts.name(chunk['model']) ?? fallback.model,
  }
}

type Part = { text?: unknown; thinking?: unknown }

/**
 * A message or delta with its content as text and its reasoning in `reasoning_content`; the same
 * object if nothing changes. Some vendors send reasoning as `reasoning`, others as parts of the
 * content (docs/vendors.md#openai-compatible-endpoints). The result of reasoning alone has no
 * content. Throws a ProviderFailure if a member has the wrong type.
 */
export function withPlainThoughts(delta: Members): Members {
  if (!isText(delta['reasoning_content']) || !isText(delta['refusal'])) malformed()
  const isPlain = isText(delta['content'])
  if (isPlain && typeof delta['reasoning'] !== 'string') return delta
  const { content, reasoning, ...rest } = delta
  if (Array.isArray(content)) return withPlainParts(content, rest)
  if (!isPlain) malformed()
  const kept = content === undefined ? {} : { content }
  const { reasoning_content: thoughts, ...others } = rest
  return { ...kept, reasoning_content: thoughts || reasoning, ...others }
}

function withPlainParts(content: readonly unknown[], rest: Members): Members {
  const parts = content.filter(isPart)
  const text = textOf(parts)
  const thoughts = textOf(parts.flatMap(({ thinking }) => thinking ?? []).filter(isPart))
  return {
    ...(text === '' && thoughts !== '' ? {} : { content: text }),
    ...(thoughts === '' ? {} : { reasoning_content: thoughts }),
    ...rest,
  }
}

function isText(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'string'
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null
}

function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('')
}

/** Names that servers and vendors use for the same reasons. */
const synonyms: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  context_length_exceeded: 'length',
  tool_call: 'tool_calls',
  tool_use: 'tool_calls',
  safety: 'content_filter',
  content_filtered: 'content_filter',
  refusal: 'content_filter',
  guardrail_intervened: 'content_filter',
}

/**
 * The OpenAI finish reason of an answer; a missing or unknown reason, such as `eos`, is `stop`.
 * `dialect` maps the vendor's reasons. An answer with calls ends with `tool_calls`. Throws a
 * ProviderFailure if the vendor reports an error as the reason.
 */
export function finishReasonOf(
  reason: unknown,
  calls: boolean,
  dialect: Readonly<Record<string, string>> = {},
): FinishReason {
  const word = typeof reason === 'string' ? reason : ''
  if (word === 'error' || word === 'network_error') {
    throw new ProviderFailure('overloaded', 'The provider failed while it answered.')
  }
  const name = named(dialect, word) ?? named(synonyms, word.toLowerCase()) ?? word
  const reasonName = FinishReasonValues.find((one) => one === name) ?? 'stop'
  return reasonName === 'stop' && calls ? 'tool_calls' : reasonName
}

function named(names: Readonly<Record<string, string>>, word: string): string | undefined {
  return Object.hasOwn(names, word) ? names[word] : undefined
}
