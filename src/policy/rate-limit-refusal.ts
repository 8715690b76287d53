import { GatewayError } from '../core/error.ts'
import type { LimitKind, LimitState } from '../core/limits.ts'

export type Refused = { state: LimitState; needed: number }

/** `Retry-After` for concurrent calls: a running call may end at any moment. */
const callEndsSeconds = 1
/** The longest `Retry-After`; used where waiting does not help. */
const longSeconds = 60

/** Returns the error for the limit with the longest wait. `limits` are all limits of the caller. */
export function refusalOf(
  refused: readonly Refused[],
  limits: readonly LimitState[],
): GatewayError {
  const longest = refused.reduce((one, other) => (waitOf(other) > waitOf(one) ? other : one))
  return new GatewayError('rate_limit_exceeded', textOf(longest), {
    retryAfterSeconds: Math.min(waitOf(longest), longSeconds),
    progress: { limits },
  })
}

function waitOf({ state: { limit, window }, needed }: Refused): number {
  if (needed > limit) return Infinity
  return window?.resetSeconds ?? callEndsSeconds
}

function textOf({ state, needed }: Refused): string {
  const { kind, owner, limit, remaining, window } = state
  const who = owner === 'key' ? 'This API key' : 'This account'
  const may = `${who} may ${deeds[kind](limit)}`
  if (limit === 0) {
    const changer = owner === 'key' ? 'Who manages the keys of the account' : 'Who runs the gateway'
    return `${may}: the limit is 0. ${changer} can change it.`
  }
  if (kind === 'concurrency') return `${may}. Try again when one of them has ended.`
  const again = `Try again in ${window?.resetSeconds ?? callEndsSeconds} s`
  if (kind === 'requests') return `${may}. ${again}.`
  const left = remaining === 1 ? '1 is left' : `${remaining} are left`
  const needs = `${left}, and this call ${wishes[kind](needed)}`
  if (needed <= limit) return `${may}; ${needs}. ${again}, or ${remedies[kind]}.`
  return `${may}, and this call alone ${wishes[kind](needed)}. Waiting does not help: ${remedies[kind]}.`
}

const deeds: Record<LimitKind, (limit: number) => string> = {
  requests: (limit) => `make ${counted(limit, 'request')} a minute`,
  tokens: (limit) => `use ${counted(limit, 'token')} a minute`,
  images: (limit) => `make ${counted(limit, 'image')} a minute`,
  concurrency: (limit) => `have ${counted(limit, 'call')} at once`,
}
const wishes = {
  tokens: (needed: number) => `may use ${needed}`,
  images: (needed: number) => `asks for ${needed}`,
}
const remedies = {
  tokens: 'send less text, or ask for fewer with max_tokens',
  images: "ask for fewer with 'n'",
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}
