import { membersOf } from '../../core/any-json.ts'
import type { FailureKind } from '../../core/failure.ts'
import { retryAfterSeconds } from '../../core/retry-after.ts'
import { failureOf, type Complaint } from './complaint.ts'
import type { VendorTexts } from './vendor-texts.ts'
import { parseJson, wholeReader, type PieceReader, type UpstreamHead } from './upstream.ts'

const answerBytesKept = 64 * 1024

/** Reads an error answer and throws it as a ProviderFailure with a safe message. */
export function failureReader(
  head: UpstreamHead,
  complaintOf: (body: unknown) => Complaint,
  kindOf: (status: number, complaint: Complaint) => FailureKind,
  texts: VendorTexts,
): PieceReader<never> {
  const { push, finish } = wholeReader((answer) => {
    const { status, headers, wasSent } = head
    // With an unsupported encoding the body is not text.
    const isPacked = (headers['content-encoding'] ?? 'identity') !== 'identity'
    const body = isPacked ? undefined : jsonOrText(answer)
    const complaint = readComplaint(body, complaintOf)
    throw failureOf(kindOf(status, complaint), complaint, {
      status,
      texts,
      retryAfterSeconds: retryAfterSeconds(head),
      wasSent: wasSent === true && proxyStatuses.has(status) && !isVendorsForm(body),
    })
  })
  let bytes = 0
  return {
    push: (piece) => {
      if (bytes < answerBytesKept) push(piece.subarray(0, answerBytesKept - bytes))
      bytes += piece.length
    },
    isEnough: () => bytes >= answerBytesKept,
    finish,
  }
}

/** The error in a body; a body that is not JSON is the message itself. */
function readComplaint(body: unknown, complaintOf: (body: unknown) => Complaint): Complaint {
  try {
    const complaint = complaintOf(body)
    // Omits a message of another type, which `complaintOf` does not check.
    return typeof complaint.message === 'string' ? complaint : { ...complaint, message: undefined }
  } catch {
    return {}
  }
}

function jsonOrText(bytes: Buffer): unknown {
  try {
    return parseJson(bytes)
  } catch {
    return bytes.toString()
  }
}

/**
 * Statuses of proxies that got no usable answer from a vendor that may have executed the request (RFC 9110,
 * and Cloudflare's 520 to 524). A proxy answers 503 instead of sending the request on.
 */
const proxyStatuses: ReadonlySet<number> = new Set([408, 502, 504, 520, 521, 522, 523, 524])

/**
 * Whether a body is an error in the form of a vendor, which has a message (docs/vendors.md#failure-kinds).
 * Proxies answer with pages, plain text, or JSON of their own.
 */
function isVendorsForm(body: unknown): boolean {
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  // Some proxies of Google wrap its error in a list.
  const { error, object, code, message } = membersOf(Array.isArray(body) ? body[0] : body)
  if (isText(membersOf(error)['message'])) return true
  return (isText(code) || object === 'error') && (isText(error) || isText(message))
}

/** Whether a number in a body is an HTTP error status. */
export function isErrorStatus(code: number): boolean {
  return Number.isInteger(code) && code >= 400 && code < 600
}

/** The failure kind of a status alone (docs/vendors.md#failure-kinds). */
export function kindOfStatus(status: number): FailureKind {
  if (status === 401 || status === 403) return 'credentials'
  if (status === 402) return 'out_of_credit'
  if (status === 404) return 'not_found'
  // Cloudflare answers 524 when the origin accepted the request but did not answer in time.
  if (status === 408 || status === 504 || status === 524) return 'timeout'
  if (status === 413) return 'too_large'
  if (status === 429) return 'rate_limited'
  if (status === 409 || status >= 500) return 'overloaded'
  if (status >= 400) return 'rejected'
  return 'malformed'
}
