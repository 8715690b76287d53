import type { LimitState, WindowKind } from '../core/limits.ts'

/**
 * OpenAI's rate-limit headers, of the tighter limit of account and key, and those of IETF
 * draft-ietf-httpapi-ratelimit-headers-10, of each limit by its name.
 */
export function limitHeaders(limits: readonly LimitState[]): Record<string, string> {
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
