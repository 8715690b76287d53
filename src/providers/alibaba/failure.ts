import type { FailureKind } from '../../core/failure.ts'
import type { Complaint } from '../transport/complaint.ts'

const kinds: Readonly<Record<string, FailureKind>> = {
  InvalidParameter: 'rejected',
  DataInspectionFailed: 'content_policy',
  IPInfringementSuspect: 'content_policy',
  Arrearage: 'out_of_credit',
  InvalidApiKey: 'credentials',
  AccessDenied: 'credentials',
  'AllocationQuota.FreeTierOnly': 'out_of_credit',
  ModelNotFound: 'not_found',
  Throttling: 'rate_limited',
  'Throttling.RateQuota': 'rate_limited',
  'Throttling.AllocationQuota': 'out_of_credit',
}

/** Failure kind of an error code in both protocols (docs/vendors.md#model-studio-errors). */
export function failureKind({ code = '' }: Complaint): FailureKind | undefined {
  return Object.hasOwn(kinds, code) ? kinds[code] : undefined
}
