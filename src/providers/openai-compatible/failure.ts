import { ProviderFailure, type FailureKind } from '../../core/failure.ts'
import { failureReader, kindOfStatus, type Complaint } from '../transport/http-failure.ts'
import type { PieceReader, UpstreamHead } from '../transport/upstream.ts'

/** Reads an OpenAI-shaped refusal, which it throws as a ProviderFailure. */
export function readFailure(
  head: UpstreamHead,
  redact: (text: string) => string,
): PieceReader<never> {
  return failureReader(head, complaintOf, kindOf, redact)
}

/**
 * Nested as OpenAI writes it, flat as Mistral and old vLLM do, or a mere text as xAI does; a code may
 * be a number (providers.md section 7).
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

/** The error that stands in an answer of status 200; undefined when it reports none. */
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

export function kindOf(status: number, { code = '', type = '' }: Complaint): FailureKind {
  if (outOfCredit.has(code) || outOfCredit.has(type)) return 'out_of_credit'
  if (contentPolicy.has(code)) return 'content_policy'
  // A bad key of ours is not the caller's fault, whatever status it comes with.
  if (code === 'invalid_api_key') return 'credentials'
  return kindOfStatus(status)
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function text<Key extends string>(key: Key, value: unknown): Partial<Record<Key, string>> {
  if (typeof value === 'string') return { [key]: value } as Record<Key, string>
  return typeof value === 'number' ? ({ [key]: String(value) } as Record<Key, string>) : {}
}
