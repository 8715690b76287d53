import { shortened } from '../../core/error.ts'
import {
  ProviderFailure,
  rejectionCodes,
  type FailureKind,
  type RejectionCode,
} from '../../core/failure.ts'
import type { VendorTexts } from './vendor-texts.ts'

/** The error that an upstream reports, whatever the shape of its body. */
export type Complaint = {
  message?: string | undefined
  code?: string
  type?: string
  param?: string
  /** The delay that the body states; it takes precedence over the headers. */
  retryAfterSeconds?: number
}

type Options = {
  status: number
  /** A 200 or an event of a stream reports the error, which then decides `status`. */
  inBand?: true
  texts: VendorTexts
  retryAfterSeconds?: number | undefined
  /** Whether the request may have been executed although the answer reports an error. */
  wasSent?: boolean
}

/** Codes and types for a conversation that exceeds the model's context. */
const tooLongCodes = new Set([
  'context_length_exceeded',
  'context_window_exceeded',
  'model_context_window_exceeded',
  'exceed_context_size_error',
  'model_max_prompt_tokens_exceeded',
])
const charactersRead = 2000
/** Messages of vendors without an error code for a request that is too long (docs/vendors.md#forms-of-errors). */
const tooLongWords = [
  /context[_ ](?:length|window)[_ ]exceeded/i,
  /(?:maximum|max|model's|only) (?:context|prompt|model) length/i,
  /exceeds? (?:the |this )?(?:model'?s? )?(?:available |maximum )?context (?:size|length|window|limit)/i,
  /context window exceeds/i,
  /greater than the context length/i,
  /longer than the model'?s context length/i,
  /prompt (?:is too long|too long|exceeds max length)/i,
  /input is too long for requested model/i,
  /input token count.*exceeds the maximum/i,
  /reduce the length of the (?:messages|prompt)/i,
  /exceeded model token limit/i,
  /total tokens.*exceed max message tokens/i,
  /range of input length should be/i,
  /configured context size is/i,
  /exceeds the maximum allowed input length/i,
  /prompt token count.*exceeds/i,
]

/** Converts a complaint to a ProviderFailure of `kind`, or of `context_length` by its text. */
export function failureOf(kind: FailureKind, complaint: Complaint, options: Options) {
  const { status, texts, inBand, retryAfterSeconds, wasSent } = options
  const narrowKind = isTooLong(kind, complaint) ? 'context_length' : kind
  const words = texts.words(complaint.message)
  const fallback = inBand
    ? 'The provider failed while it answered.'
    : `The provider answered ${status}.`
  return new ProviderFailure(narrowKind, words || fallback, {
    status,
    vendorText: inBand && words,
    words: withoutQuotations(words),
    param: plainParam(complaint.param, texts),
    code: narrowKind === 'rejected' ? rejectionCode(complaint) : undefined,
    retryAfterSeconds: complaint.retryAfterSeconds ?? retryAfterSeconds,
    wasSent,
  })
}

const recordedCharactersMax = 200
const quotation = /(?<!\w)(["'`])(.*?)(?:\1(?!\w)|$)|[“‘«](.*?)(?:[”’»](?!\w)|$)/g
/** Names and values of settings. Any other quoted text may be part of a prompt, and prompts are never stored. */
const setting = /^[\w.:/+[\]-]{1,64}$/

function withoutQuotations(words: string): string {
  const kept = words.replace(quotation, (found: string, _, text = '', typographic = '') =>
    setting.test(text || typographic) ? found : '[…]',
  )
  return shortened(kept, recordedCharactersMax)
}

/** The path of a property in a body, such as `messages[0].content`. */
const plainPath = /^[a-z][a-z0-9_]*(?:\[\d{1,4}\]|\.[a-z][a-z0-9_]*)*$/
const paramCharactersMax = 100

function plainParam(param: string | undefined, texts: VendorTexts): string | undefined {
  const name = texts.name(param, paramCharactersMax) ?? ''
  const path = name.replace(/^body\./, '').replace(/\.(\d+)(?=\.|$)/g, '[$1]')
  return plainPath.test(path) ? path : undefined
}

function isTooLong(kind: FailureKind, { code = '', type = '', message = '' }: Complaint): boolean {
  if (kind !== 'rejected' && kind !== 'too_large') return false
  if (tooLongCodes.has(code) || tooLongCodes.has(type)) return true
  const beginning = message.slice(0, charactersRead)
  return tooLongWords.some((words) => words.test(beginning))
}

function rejectionCode({ code }: Complaint): RejectionCode | undefined {
  return rejectionCodes.find((known) => known === code)
}
