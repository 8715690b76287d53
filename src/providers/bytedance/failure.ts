import type { FailureKind } from '../../core/failure.ts'
import type { Complaint } from '../transport/complaint.ts'

const kinds: readonly (readonly [FailureKind, RegExp])[] = [
  ['content_policy', /Sensitive|RiskDetection|ContentSecurity/],
  ['out_of_credit', /^QuotaExceeded|Overdue/],
  ['rate_limited', /^(?:RateLimitExceeded|ModelAccount|RequestBurstTooFast)/],
  ['overloaded', /^(?:ServerOverloaded|ModelLoadingError|InternalService|ServiceUnavailable)/],
]

/** Failure kind of an error code (docs/vendors.md#modelark-errors). */
export function failureKind({ code = '' }: Complaint): FailureKind | undefined {
  return kinds.find(([, pattern]) => pattern.test(code))?.[0]
}
