import type { Progress } from '../core/error.ts'
import type { LimitState, WindowKind } from '../core/limits.ts'
import { usdText } from '../core/money/price.ts'
import type { Receipt } from '../core/receipt.ts'

/** The response headers that tell how a call was handled (docs/behaviour.md#headers). */
export function receiptHeaders(receipt: Receipt): Record<string, string> {
  const { model, provider, cost, cache, attempts, warnings } = receipt
  const headers: Record<string, string> = {
    ...modelHeaders(model.row),
    'x-gateway-provider': provider,
    'x-gateway-cache': cache,
    ...limitHeaders(receipt.limits),
  }
  if (cost.nanoUsd !== null) headers['x-gateway-cost-usd'] = usdText(cost.nanoUsd)
  if (attempts.length > 0) headers['x-gateway-attempts'] = attemptsText(attempts)
  if (warnings.length > 0) headers['x-gateway-warnings'] = String(warnings.length)
  return headers
}

/** The same of a call that failed, as far as it had come. */
export function progressHeaders({
  limits,
  model,
  attempts = [],
}: Progress): Record<string, string> {
  const headers: Record<string, string> = {
    ...(model === undefined ? {} : modelHeaders(model)),
    ...(limits === undefined ? {} : limitHeaders(limits)),
  }
  const last = attempts.at(-1)
  if (last === undefined) return headers
  headers['x-gateway-provider'] = last.provider
  headers['x-gateway-attempts'] = attemptsText(attempts)
  return headers
}

/** Which model it is, and when it was deprecated and ends. */
function modelHeaders(row: NonNullable<Progress['model']>): Record<string, string> {
  let headers = ofModel.get(row)
  if (headers === undefined) ofModel.set(row, (headers = writeModelHeaders(row)))
  return headers
}

/** Written once for each row, since every answer of the model has them. */
const ofModel = new WeakMap<object, Record<string, string>>()

function writeModelHeaders(row: NonNullable<Progress['model']>): Record<string, string> {
  const { deprecated_at: deprecatedAt, deactivated_at: deactivatedAt } = row
  const headers: Record<string, string> = { 'x-gateway-model': headerText(row.id) }
  // RFC 9745 takes Unix seconds after an @, RFC 8594 an HTTP date.
  if (deprecatedAt !== undefined) headers['deprecation'] = `@${Date.parse(deprecatedAt) / 1000}`
  if (deactivatedAt !== undefined) headers['sunset'] = new Date(deactivatedAt).toUTCString()
  return headers
}

/** More tries than these make no sense to a reader, and headers have to end somewhere. */
const attemptsTold = 100

function attemptsText(attempts: NonNullable<Progress['attempts']>): string {
  return attempts
    .slice(0, attemptsTold)
    .map(({ provider, outcome }) => `${provider}=${outcome}`)
    .join(', ')
}

/**
 * An endpoint that takes any model name may get characters that a header cannot carry: such a name
 * is percent-encoded (RFC 3986), and half a character of it becomes the mark for one that is lost.
 */
function headerText(text: string): string {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)
    ? text
    : encodeURI(text.toWellFormed())
}

/**
 * OpenAI's rate-limit headers, of the tighter limit of account and key, and those of IETF
 * draft-ietf-httpapi-ratelimit-headers-10, of each limit by its name.
 */
function limitHeaders(limits: readonly LimitState[]): Record<string, string> {
  const headers: Record<string, string> = {}
  if (limits.length === 0) return headers
  const tightest = new Map<WindowKind, LimitState>()
  for (const state of limits) {
    if (state.kind === 'concurrency') continue
    const known = tightest.get(state.kind)
    if (known === undefined || isTighter(state, known)) tightest.set(state.kind, state)
  }
  for (const [kind, { limit, remaining, window }] of tightest) {
    headers[`x-ratelimit-limit-${kind}`] = String(limit)
    headers[`x-ratelimit-remaining-${kind}`] = String(remaining)
    headers[`x-ratelimit-reset-${kind}`] = `${window?.resetSeconds ?? 0}s`
  }
  headers['ratelimit'] = limits.map(serviceLimit).join(', ')
  headers['ratelimit-policy'] = limits.map(quotaPolicy).join(', ')
  return headers
}

function isTighter(one: LimitState, other: LimitState): boolean {
  return one.remaining < other.remaining
}

function serviceLimit({ kind, owner, remaining, window }: LimitState): string {
  const left = `"${kind}-per-${owner}";r=${remaining}`
  return window === undefined ? left : `${left};t=${window.resetSeconds}`
}

/** Requests are the unit where none is named. */
const units = {
  requests: '',
  tokens: ';qu="tokens"',
  images: ';qu="images"',
  concurrency: ';qu="concurrent-requests"',
}

function quotaPolicy({ kind, owner, limit, window }: LimitState): string {
  const quota = `"${kind}-per-${owner}";q=${limit}`
  return `${quota}${window === undefined ? '' : `;w=${window.seconds}`}${units[kind]}`
}
