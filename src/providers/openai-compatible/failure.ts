import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import type { Complaint } from '../transport/complaint.ts'
import { failureReader, kindOfStatus } from '../transport/http-failure.ts'
import type { PieceReader, UpstreamHead } from '../transport/upstream.ts'

/** Reads an OpenAI-shaped error answer and throws it as a ProviderFailure. */
export function readFailure(
  head: UpstreamHead,
  redact: (text: string) => string,
): PieceReader<never> {
  return failureReader(head, complaintOf, kindOf, redact)
}

/**
 * The error in a body: nested as OpenAI writes it, flat as Mistral and old vLLM do, or a string as
 * xAI does. A code may be a number (docs/vendors.md#forms-of-errors).
 */
export function complaintOf(body: unknown): Complaint {
  const outer = record(body)
  if (typeof outer['error'] === 'string') return { message: outer['error'] }
  const inner = 'error' in outer ? record(outer['error']) : outer
  return {
    ...text('message', inner['message']),
    ...text('code', inner['code']),
    ...text('type', inner['type']),
    ...text('param', inner['param']),
  }
}

/** The error in the body of a 200 or in an event; undefined when there is none. */
export function bodyFailure(body: unknown): ProviderFailure | undefined {
  const { error } = record(body)
  if (error === undefined || error === null) return undefined
  const complaint = complaintOf(body)
  const status = Number(complaint.code) >= 400 ? Number(complaint.code) : 500
  const message = 'The provider failed while it answered.'
  return new ProviderFailure(kindOf(status, complaint), message, { status })
}

const outOfCredit = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
])
const contentPolicy = new Set([
  'content_policy_violation',
  'moderation_blocked',
  'content_filter',
  'data_inspection_failed',
])

function kindOf(status: number, { code = '', type = '' }: Complaint): FailureKind {
  if (outOfCredit.has(code) || outOfCredit.has(type)) return 'out_of_credit'
  if (contentPolicy.has(code)) return 'content_policy'
  // An invalid key of the operator is not the caller's fault, whatever the status.
  if (code === 'invalid_api_key') return 'credentials'
  return kindOfStatus(status)
}

function record(value: unknown): Record<string, unknown> {
  // Any object's members may be read as unknown.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function text<Key extends string>(key: Key, value: unknown): Partial<Record<Key, string>> {
  if (typeof value !== 'string' && typeof value !== 'number') return {}
  // TypeScript widens a computed key to string.
  return { [key]: String(value) } as Record<Key, string>
}
