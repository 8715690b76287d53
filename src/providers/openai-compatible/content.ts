import type { VendorTexts } from '../transport/vendor-texts.ts'
import type { Members } from '../wire/any-json.ts'
import { openAiTier } from '../wire/served-tier.ts'

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
