import { ProviderFailure } from '../../core/failure.ts'
import { isMembers, type Members } from '../wire/any-json.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { openAiTier } from '../wire/served-tier.ts'
import { randomBytes } from 'node:crypto'
import type { ChunkIdentity } from '../../core/chat/chat.ts'

/** Throws a ProviderFailure `malformed`. */
export function malformed(): never {
  throw new ProviderFailure('malformed', 'The answer is not what the provider promises.')
}

/** The members of an object. Throws a ProviderFailure for anything else. */
export function readMembers(value: unknown): Members {
  return isMembers(value) ? value : malformed()
}

export function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** No vendor gives more answers to a request. */
const choicesMax = 128

/** The answers that are listed. Throws a ProviderFailure. */
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
 * The members of an answer that are what a model said or found: they are passed on as they are, and all others
 * as docs/vendors.md#what-passes tells.
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
/** Of a call; signed thoughts travel with some. */
export const callContent: ReadonlySet<string> = new Set([
  'index',
  'id',
  'type',
  'function',
  'custom',
  'extra_content',
])
/** Of an answer or a chunk: its choices, what is read by itself, and what pads a chunk. */
const answerContent: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'obfuscation',
  'p',
])

/** An answer or chunk whose members beside the choices are OpenAI's; the same object when nothing changes. */
export function besideChoices(given: Members, texts: VendorTexts): Members {
  const clean = texts.members(given, answerContent)
  const { service_tier: tier, system_fingerprint: print, ...rest } = clean
  const own = openAiTier(tier)
  const isPrint = typeof print === 'string'
  if (own === tier && (isPrint || print === undefined)) return clean
  const told = own === undefined ? {} : { service_tier: own }
  return { ...rest, ...told, ...(isPrint ? { system_fingerprint: print } : {}) }
}

/** What is absent in OpenAI's answers where others have null. */
const neverNull = ['annotations', 'function_call', 'images', 'audio']

/** A message or delta without the nulls that OpenAI's do not have; the same object when there are none. */
export function withoutNulls(said: Members): Members {
  if (neverNull.every((name) => said[name] !== null)) return said
  const isTold = ([name, value]: [string, unknown]) => value !== null || !neverNull.includes(name)
  return Object.fromEntries(Object.entries(said).filter(isTold))
}

/** What an answer is called that does not say it, and how its own names are read. */
export type Naming = { fallback: Omit<ChunkIdentity, 'id'>; texts: VendorTexts }

function isDate(seconds: unknown): seconds is number {
  return typeof seconds === 'number' && seconds >= 0 && seconds <= Number.MAX_SAFE_INTEGER
}

/** The same with what the vendor left out: `id`, or a new one, and the rest from `fallback`. */
export function completeIdentity(given: Members, { fallback, texts }: Naming): ChunkIdentity {
  const { created } = given
  return {
    id: texts.name(given['id']) ?? `chatcmpl-${randomBytes(16).toString('hex')}`,
    created: isDate(created) ? Math.floor(created) : fallback.created,
    model: texts.name(given['model']) ?? fallback.model,
  }
}

type Part = { text?: unknown; thinking?: unknown }

/**
 * A message or delta with its content as text and its reasoning in `reasoning_content`; the same object when
 * nothing changes. Some vendors send reasoning as `reasoning`, others as parts of the content
 * (docs/vendors.md#openai-compatible-endpoints). With reasoning alone the result may have no content.
 * Throws a ProviderFailure when a text is none.
 */
export function withPlainThoughts(said: Members): Members {
  const { content, reasoning, ...rest } = said
  if (!isText(rest['reasoning_content']) || !isText(rest['refusal'])) malformed()
  if (Array.isArray(content)) return withPlainParts(content, rest)
  if (!isText(content)) malformed()
  if (typeof reasoning !== 'string') return said
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

/** What ends an answer of OpenAI. */
const own = new Set(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])

/** Words of servers and vendors for the same. */
const synonyms: Readonly<Record<string, string>> = {
  max_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  context_length_exceeded: 'length',
  tool_call: 'tool_calls',
  tool_use: 'tool_calls',
  safety: 'content_filter',
  content_filtered: 'content_filter',
  refusal: 'content_filter',
}

/**
 * Why an answer ended, in OpenAI's words: `eos` and every other unknown one is `stop`, and so is none.
 * `dialect` has those of the vendor. Calls are what ends an answer that has them. Throws a
 * ProviderFailure when it ended by a failure.
 */
export function finishReasonOf(
  reason: unknown,
  calls: boolean,
  dialect: Readonly<Record<string, string>> = {},
): string {
  const word = typeof reason === 'string' ? reason : ''
  if (word === 'error' || word === 'network_error') {
    throw new ProviderFailure('overloaded', 'The provider failed while it answered.')
  }
  const told = named(dialect, word) ?? named(synonyms, word.toLowerCase()) ?? word
  const known = own.has(told) ? told : 'stop'
  return known === 'stop' && calls ? 'tool_calls' : known
}

function named(names: Readonly<Record<string, string>>, word: string): string | undefined {
  return Object.hasOwn(names, word) ? names[word] : undefined
}
