import type { FailureKind, ProviderFailure } from '../../core/failure.ts'
import { failureOf, type Complaint } from '../transport/complaint.ts'
import { failureReader, isErrorStatus, kindOfStatus } from '../transport/http-failure.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import type { PieceReader, UpstreamHead } from '../transport/upstream.ts'
import { itemsOf, membersOf } from '../../core/any-json.ts'
import { complaintOf } from './complaint.ts'

/** How to read the errors of a vendor. */
export type ErrorReading = {
  texts: VendorTexts
  /** The failure kind of a vendor's error code; undefined if the status decides. */
  failureKind?: ((complaint: Complaint) => FailureKind | undefined) | undefined
  /** The vendor's request has other paths than the caller's, so `param` of an error is dropped. */
  hasOtherPaths?: true
}

/** Reads an OpenAI-shaped error answer and throws it as a ProviderFailure. */
export function readFailure(head: UpstreamHead, reading: ErrorReading): PieceReader<never> {
  const kind = (status: number, complaint: Complaint) => kindOf(status, complaint, reading)
  return failureReader(head, (body) => readComplaint(body, reading), kind, reading.texts)
}

function readComplaint(body: unknown, { hasOtherPaths }: ErrorReading): Complaint {
  const complaint = complaintOf(body)
  if (hasOtherPaths) delete complaint.param
  return complaint
}

/** The error in the body of a 200 or in an event; undefined if the body has no error. */
export function bodyFailure(body: unknown, reading: ErrorReading): ProviderFailure | undefined {
  if (isError(body)) return eventFailure(body, reading)
  const failed = itemsOf(membersOf(body)['choices']).find((choice) =>
    isPresent(membersOf(choice)['error']),
  )
  return failed === undefined
    ? undefined
    : eventFailure({ error: membersOf(failed)['error'] }, reading)
}

function isPresent(error: unknown): boolean {
  return error !== undefined && error !== null && error !== '' && error !== false
}

/** The failure that an event named `error` reports. */
export function eventFailure(body: unknown, reading: ErrorReading): ProviderFailure {
  const complaint = readComplaint(body, reading)
  const status = statusOf(complaint)
  const { texts } = reading
  return failureOf(kindOf(status, complaint, reading), complaint, { status, texts, inBand: true })
}

/** Whether a body is an error: nested in `error`, or flat from old servers, without `choices` and `data`. */
function isError(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  // Any object can be read as a record of unknown values.
  const { error, object, choices, message, detail, success } = body as Record<string, unknown>
  if (isPresent(error)) return true
  // Some servers answer pictures with `message: success`.
  if (choices !== undefined || itemsOf(membersOf(body)['data']).length > 0) return false
  return object === 'error' || success === false || isWords(message) || isWords(detail)
}

function isWords(value: unknown): boolean {
  return typeof value === 'string' || Array.isArray(value)
}

const kinds: Readonly<Record<string, FailureKind>> = {
  insufficient_quota: 'out_of_credit',
  billing_hard_limit_reached: 'out_of_credit',
  billing_not_active: 'out_of_credit',
  content_policy_violation: 'content_policy',
  moderation_blocked: 'content_policy',
  content_filter: 'content_policy',
  contentFilter: 'content_policy',
  data_inspection_failed: 'content_policy',
  // The operator's key is invalid: not the caller's fault, even with a status like 400.
  invalid_api_key: 'credentials',
}

function kindOf(status: number, complaint: Complaint, { failureKind }: ErrorReading): FailureKind {
  const { code, type } = complaint
  return (
    failureKind?.(complaint) ?? lookUp(kinds, code) ?? lookUp(kinds, type) ?? kindOfStatus(status)
  )
}

/** HTTP statuses for error codes and types, since an error in a 200 or an event has no status. */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  BadRequestError: 400,
  tool_use_failed: 400,
  json_validate_failed: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  NotFoundError: 404,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  timeout_error: 504,
}

function statusOf({ code, type }: Complaint): number {
  const number = Number(code)
  if (isErrorStatus(number)) return number
  return lookUp(statuses, code) ?? lookUp(statuses, type) ?? 500
}

function lookUp<T>(table: Readonly<Record<string, T>>, name: string | undefined): T | undefined {
  return name !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
}
