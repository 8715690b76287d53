import type { FailureKind, ProviderFailure } from '../../core/failure.ts'
import { prune } from '../../core/prune.ts'
import { failureOf, type Complaint } from '../transport/complaint.ts'
import { failureReader, isErrorStatus, kindOfStatus } from '../transport/http-failure.ts'
import type { PieceReader, UpstreamHead } from '../transport/upstream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { itemsOf, membersOf, textIn } from '../../core/any-json.ts'

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
