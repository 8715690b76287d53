import type { InputCount } from '../core/chat/count-input.ts'
import type { Progress } from '../core/error.ts'
import type { LimitState, WindowKind } from '../core/limits.ts'
import { usdText } from '../core/money/price.ts'
import type { Receipt } from '../core/receipt.ts'

/** The response headers that describe the handling of a call (docs/behaviour.md#headers). */
export function receiptHeaders(receipt: Receipt): Record<string, string> {
  const { model, provider, cost, cache, attempts, warnings } = receipt
  const headers: Record<string, string> = { ...modelHeaders(model.row) }
  headers['x-gateway-provider'] = provider
  headers['x-gateway-cache'] = cache
  addLimitHeaders(headers, receipt.limits)
  if (cost.nanoUsd !== null) headers['x-gateway-cost-usd'] = usdText(cost.nanoUsd)
  if (attempts.length > 0) headers['x-gateway-attempts'] = attemptsText(attempts)
  if (warnings.length > 0) headers['x-gateway-warnings'] = String(warnings.length)
  return headers
}

/** The cost fields of every `usage` below /v1: `cost` in US dollars, null when it is unknown. */
export function costFields(cost: Receipt['cost']) {
  return {
    cost: cost.nanoUsd === null ? null : cost.nanoUsd / 1e9,
    cost_status: cost.status,
    cost_details: cost.details,
  }
}

/** The header of a token count: the provider, unless the gateway estimated the count. */
export function countHeaders({ provider }: InputCount): Record<string, string> {
  return provider === undefined ? {} : { 'x-gateway-provider': provider }
}

/** The headers of a failed call, as far as the call progressed. */
export function progressHeaders({
  limits,
  model,
  attempts = [],
}: Progress): Record<string, string> {
  const headers: Record<string, string> = model === undefined ? {} : { ...modelHeaders(model) }
  if (limits !== undefined) addLimitHeaders(headers, limits)
  const last = attempts.at(-1)
  if (last === undefined) return headers
  headers['x-gateway-provider'] = last.provider
  headers['x-gateway-attempts'] = attemptsText(attempts)
  return headers
}

/** The model, and its deprecation and shutdown dates. */
function modelHeaders(row: NonNullable<Progress['model']>): Record<string, string> {
  let headers = ofModel.get(row)
  if (headers === undefined) ofModel.set(row, (headers = writeModelHeaders(row)))
  return headers
}

/** Formatted once for each model, since every answer repeats them. */
const ofModel = new WeakMap<object, Record<string, string>>()

function writeModelHeaders(row: NonNullable<Progress['model']>): Record<string, string> {
  const { deprecated_at: deprecatedAt, deactivated_at: deactivatedAt } = row
  const headers: Record<string, string> = { 'x-gateway-model': headerText(row.id) }
  // RFC 9745 requires Unix seconds after an @, RFC 8594 an HTTP date.
  if (deprecatedAt !== undefined) headers['deprecation'] = `@${Date.parse(deprecatedAt) / 1000}`
  if (deactivatedAt !== undefined) headers['sunset'] = new Date(deactivatedAt).toUTCString()
  return headers
}

/** Maximum number of attempts in the header; more are of no use to a reader. */
const attemptsTold = 100

function attemptsText(attempts: NonNullable<Progress['attempts']>): string {
  return attempts
    .slice(0, attemptsTold)
    .map(({ provider, outcome }) => `${provider}=${outcome}`)
    .join(', ')
}

/**
 * An endpoint with arbitrary model names may have characters that a header cannot carry: such a
 * name is percent-encoded (RFC 3986), and a lone surrogate becomes U+FFFD.
 */
function headerText(text: string): string {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)
    ? text
    : encodeURI(text.toWellFormed())
}

/**
 * Adds OpenAI's rate-limit headers for the tightest limit of account, key and person, and the IETF headers of
 * draft-ietf-httpapi-ratelimit-headers-10 for each limit.
 */
function addLimitHeaders(headers: Record<string, string>, limits: readonly LimitState[]): void {
  if (limits.length === 0) return
  for (const [kind, names] of namesByKind) {
    const state = tightest(limits, kind)
    if (state === undefined) continue
    headers[names.limit] = String(state.limit)
    headers[names.remaining] = String(state.remaining)
    headers[names.reset] = `${state.window?.resetSeconds ?? 0}s`
  }
  headers['ratelimit'] = limits.map(serviceLimit).join(', ')
  headers['ratelimit-policy'] = limits.map(quotaPolicy).join(', ')
}

/** Names are made once, since V8 has to look up each new string among all property names. */
const namesByKind = (['requests', 'tokens', 'images'] satisfies WindowKind[]).map(
  (kind) =>
    [
      kind,
      {
        limit: `x-ratelimit-limit-${kind}`,
        remaining: `x-ratelimit-remaining-${kind}`,
        reset: `x-ratelimit-reset-${kind}`,
      },
    ] as const,
)

/** The limit of this kind with the least remaining; the first of equals. */
function tightest(limits: readonly LimitState[], kind: WindowKind): LimitState | undefined {
  let found: LimitState | undefined
  for (const state of limits)
    if (state.kind === kind && (found === undefined || state.remaining < found.remaining))
      found = state
  return found
}

function serviceLimit({ kind, owner, remaining, window }: LimitState): string {
  const left = `"${kind}-per-${owner}";r=${remaining}`
  return window === undefined ? left : `${left};t=${window.resetSeconds}`
}

/** The default unit is requests. */
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
