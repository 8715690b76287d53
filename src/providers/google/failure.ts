import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import { failureReader, kindOfStatus, type Complaint } from '../transport/http-failure.ts'
import type { PieceReader, UpstreamHead } from '../transport/upstream.ts'

type WireError = {
  error?: {
    code?: number
    message?: string
    status?: string
    details?: { '@type'?: string; reason?: string; retryDelay?: string }[]
  }
}

/** Reads a Gemini refusal, which it throws as a ProviderFailure (providers.md section 1.5). */
export function readFailure(
  head: UpstreamHead,
  redact: (text: string) => string,
): PieceReader<never> {
  return failureReader(head, complaintOf, kindOf, redact)
}

/** The failure that an event in mid-stream reports. */
export function streamFailure(event: unknown): ProviderFailure {
  const complaint = complaintOf(event)
  const status = (event as WireError).error?.code ?? 500
  return new ProviderFailure(kindOf(status, complaint), 'The provider failed while it answered.')
}

function complaintOf(body: unknown): Complaint {
  // Some gateways in front of the vendor wrap the error in a list.
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
  // A bad key is answered with 400, as if the caller had sent it.
  if (code === 'API_KEY_INVALID') return 'credentials'
  // Of our account as well: where it is served, and whether it pays.
  if (code === 'FAILED_PRECONDITION') return 'credentials'
  return kindOfStatus(status)
}
