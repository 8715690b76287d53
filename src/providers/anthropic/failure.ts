import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import type { Complaint } from '../transport/complaint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import type { PieceReader, UpstreamHead } from '../transport/upstream.ts'

export type WireError = { error?: { type?: string; message?: string } }

/** Reads an error answer and throws a ProviderFailure (docs/vendors.md#anthropic-errors). */
export function readFailure(
  head: UpstreamHead,
  redact: (text: string) => string,
): PieceReader<never> {
  return failureReader(head, complaintOf, kindOf, redact)
}

/** The failure that an `error` event of a stream reports. */
export function streamFailure(event: WireError): ProviderFailure {
  const complaint = complaintOf(event)
  return new ProviderFailure(kindOf(500, complaint), 'The provider failed while it answered.')
}

function complaintOf(body: unknown): Complaint {
  // Every member is optional and checked below.
  const { error } = (body ?? {}) as WireError
  return {
    ...(typeof error?.message === 'string' ? { message: error.message } : {}),
    ...(typeof error?.type === 'string' ? { type: error.type } : {}),
  }
}

const kinds: Readonly<Record<string, FailureKind>> = {
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
