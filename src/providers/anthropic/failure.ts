import type { FailureKind, ProviderFailure } from '../../core/failure.ts'
import { prune } from '../../core/prune.ts'
import { failureOf, type Complaint } from '../transport/complaint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import type { PieceReader, UpstreamHead } from '../transport/upstream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { membersOf, textIn } from '../../core/any-json.ts'

/** Reads an error answer and throws a ProviderFailure (docs/vendors.md#anthropic-errors). */
export function readFailure(head: UpstreamHead, texts: VendorTexts): PieceReader<never> {
  return failureReader(head, complaintOf, kindOf, texts)
}

/** The failure in an `error` event of a stream, or in the body of a 200. */
export function bodyFailure(body: unknown, texts: VendorTexts): ProviderFailure {
  const complaint = complaintOf(body)
  const status = 500
  return failureOf(kindOf(status, complaint), complaint, { status, texts, inBand: true })
}

function complaintOf(body: unknown): Complaint {
  const { error } = membersOf(body)
  const { message, type } = membersOf(error)
  return prune({ message: textIn(message) ?? textIn(error), type: textIn(type) })
}

const kinds: Readonly<Record<string, FailureKind>> = {
  invalid_request_error: 'rejected',
  authentication_error: 'credentials',
  permission_error: 'credentials',
  billing_error: 'out_of_credit',
  not_found_error: 'not_found',
  request_too_large: 'too_large',
  rate_limit_error: 'rate_limited',
  timeout_error: 'timeout',
  api_error: 'overloaded',
  overloaded_error: 'overloaded',
}

function kindOf(status: number, { type = '', message = '' }: Complaint): FailureKind {
  // An account without credit is answered with 400, which is not the caller's fault.
  if (message.includes('credit balance is too low')) return 'out_of_credit'
  return (Object.hasOwn(kinds, type) ? kinds[type] : undefined) ?? kindOfStatus(status)
}
