import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import type { Complaint } from '../transport/complaint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import type { PieceReader, UpstreamHead } from '../transport/upstream.ts'

type WireError = {
  error?: {
    code?: number
    message?: string
    status?: string
    details?: { '@type'?: string; reason?: string; retryDelay?: string }[]
  }
}

/** Reads an error answer and throws a ProviderFailure (docs/vendors.md#gemini-errors). */
export function readFailure(
  head: UpstreamHead,
  redact: (text: string) => string,
): PieceReader<never> {
  return failureReader(head, complaintOf, kindOf, redact)
}

/** The failure that an event of a stream reports in `error`. */
export function streamFailure(event: unknown): ProviderFailure {
  const complaint = complaintOf(event)
  // An `error` of another shape has no code.
  const status = (event as WireError).error?.code ?? 500
  return new ProviderFailure(kindOf(status, complaint), 'The provider failed while it answered.')
}

function complaintOf(body: unknown): Complaint {
  // Some gateways in front of the vendor wrap the error in a list. Every member is optional.
  const { error } = ((Array.isArray(body) ? body[0] : body) ?? {}) as WireError
  const { message, status, details = [] } = error ?? {}
  const reason = details.find((detail) => detail.reason !== undefined)?.reason
  const delay = details.find((detail) => detail.retryDelay !== undefined)?.retryDelay
  return {
    ...(message === undefined ? {} : { message }),
    ...((reason ?? status) === undefined ? {} : { code: reason ?? status! }),
    ...(delay === undefined ? {} : { retryAfterSeconds: Number.parseFloat(delay) }),
  }
}

function kindOf(status: number, { code }: Complaint): FailureKind {
  // An invalid key is answered with 400, which is not the caller's fault.
  if (code === 'API_KEY_INVALID') return 'credentials'
  // The operator's account is the cause here too: its country or its billing.
  if (code === 'FAILED_PRECONDITION') return 'credentials'
  return kindOfStatus(status)
}
