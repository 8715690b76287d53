import type { Caller, UsageLimits } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import {
  countRequest,
  type Admission,
  type Admit,
  type CountRefused,
  type Demand,
  type LimitState,
  type Used,
  type WindowKind,
  type LimitKind,
} from '../core/limits.ts'
import { hasRoom, shareOf, type Counted, type Counts, type Taken } from './counts.ts'
import { counted } from '../core/words/counted.ts'

/** A limit of a caller that is counted in windows; the key names its windows. */
type WindowLimit = Pick<LimitState, 'owner' | 'limit'> & { kind: WindowKind; key: string }
type CallLimit = Pick<LimitState, 'owner' | 'limit'> & { ownerId: string }
type Limits = { windows: readonly WindowLimit[]; calls: readonly CallLimit[] }

type Need = { of: WindowLimit; points: number }
/** The used points of a window, the call included, and the end of the window. */
type Seen = Need & { used: number; endsAt: number }

type Options = {
  counts: Counts
  /** The limits of an account without limits of its own. */
  defaults: () => UsageLimits
  /** A monotonic clock, in milliseconds. */
  monotonic: () => number
}

const windowSeconds = 60
const windowMs = windowSeconds * 1000
const unlimited: Admission = { limits: () => [], end: () => undefined }

/** The rate limits of accounts, keys and people (docs/behaviour.md#rate-limits). */
export function createRateLimit({ counts, defaults, monotonic }: Options) {
  const limitsOf = createLimits(defaults)
  return {
    /**
     * Admits a call that lasts at most `timeoutMs`. Throws or rejects with `rate_limit_exceeded`; then nothing
     * is counted.
     */
    admit: ((caller, demand, timeoutMs) => {
      const { windows, calls } = limitsOf(caller)
      if (windows.length + calls.length === 0) return unlimited
      const needs = windows.map((of): Need => ({ of, points: pointsOf(of, demand) }))
      const admitted = (taken: Taken): Admission => {
        const seen = seenAt(monotonic(), needs, taken)
        const { end } = taken
        if (end === undefined) {
          const states = statesAt(monotonic(), seen, calls, taken)
          throw refusalOf(refusedOf(seen, states, taken), states)
        }
        let hasEnded = false
        return {
          limits: () => statesAt(monotonic(), seen, calls, taken),
          end: (used) => {
            if (hasEnded) return
            hasEnded = true
            end(used && settle(monotonic(), seen, used))
          },
        }
      }
      const taking = counts.take({ windows: needs, windowMs, calls, timeoutMs })
      return taking instanceof Promise ? taking.then(admitted) : admitted(taking)
    }) satisfies Admit,
    /** Returns the state of the limits of a caller. */
    look: (caller: Caller) => {
      const { windows, calls } = limitsOf(caller)
      const needs = windows.map((of): Need => ({ of, points: 0 }))
      const read = (counted: Counted) =>
        statesAt(monotonic(), seenAt(monotonic(), needs, counted), calls, counted)
      const counted = counts.look({ windows: needs, windowMs, calls })
      return counted instanceof Promise ? counted.then(read) : read(counted)
    },
  }
}

function seenAt(now: number, needs: readonly Need[], { windows }: Counted): Seen[] {
  return needs.map(({ of, points }, index) => {
    const { used, leftMs } = windows[index]!
    return { of, points, used, endsAt: now + leftMs }
  })
}

function statesAt(
  now: number,
  seen: readonly Seen[],
  calls: readonly CallLimit[],
  { processes, running }: Counted,
): LimitState[] {
  const states = seen.map(({ of: { kind, owner, limit }, used, endsAt }): LimitState => {
    const remaining = Math.max(0, shareOf(limit, processes) - Math.max(0, used))
    const resetSeconds = Math.ceil(Math.max(0, endsAt - now) / 1000)
    return { kind, owner, limit, remaining, window: { seconds: windowSeconds, resetSeconds } }
  })
  const callsNow = running()
  calls.forEach(({ owner, limit }, index) => {
    const remaining = Math.max(0, shareOf(limit, processes) - callsNow[index]!)
    states.push({ kind: 'concurrency', owner, limit, remaining })
  })
  return states
}

/** The limits that refuse a call. */
function refusedOf(
  seen: readonly Seen[],
  states: readonly LimitState[],
  { processes }: Counted,
): Refused[] {
  return states.flatMap((state, index): Refused[] => {
    const window = seen[index]
    if (window === undefined) return state.remaining === 0 ? [{ state, needed: 1 }] : []
    return hasRoom(window, window.used, processes) ? [] : [{ state, needed: window.points }]
  })
}

/** Replaces the points taken by the points used; returns the differences. */
function settle(now: number, seen: readonly Seen[], used: Used): number[] {
  return seen.map((one) => {
    const more = usedOf(one.of.kind, used) - one.points
    // Points are given back only to a window that has not ended.
    if (more > 0 || one.endsAt > now) one.used += more
    return more
  })
}

const windowKinds = [
  ['requests', 'requestsPerMinute'],
  ['tokens', 'tokensPerMinute'],
  ['images', 'imagesPerMinute'],
] as const

/** The limits of a caller: those of the account, else the defaults, those of the key, and of its person. */
function createLimits(defaults: () => UsageLimits): (caller: Caller) => Limits {
  let inForce: UsageLimits | undefined
  let known = new WeakMap<Caller, Limits>()

  const read = (caller: Caller, others: UsageLimits): Limits => {
    const [account, key, ...members] = caller.allowances
    const owners = [
      { owner: 'account', ownerId: account.ownerId, limits: orElse(account.limits, others) },
      { owner: 'key', ownerId: key.ownerId, limits: key.limits },
      ...members.map(({ ownerId, limits }) => ({ owner: 'member' as const, ownerId, limits })),
    ] as const
    return {
      windows: windowKinds.flatMap(([kind, name]) =>
        owners.flatMap(({ owner, ownerId, limits: { [name]: limit } }): WindowLimit[] =>
          limit === null ? [] : [{ kind, owner, key: `${kind}:${ownerId}`, limit }],
        ),
      ),
      calls: owners.flatMap(({ owner, ownerId, limits: { concurrency: limit } }): CallLimit[] =>
        limit === null ? [] : [{ owner, ownerId, limit }],
      ),
    }
  }
  return (caller) => {
    const now = defaults()
    // Limits computed from replaced defaults are dropped: a reload of the settings replaces the defaults.
    if (inForce !== now) {
      inForce = now
      known = new WeakMap()
    }
    let limits = known.get(caller)
    if (limits === undefined) known.set(caller, (limits = read(caller, now)))
    return limits
  }
}

function orElse(own: UsageLimits, defaults: UsageLimits): UsageLimits {
  return {
    requestsPerMinute: own.requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: own.tokensPerMinute ?? defaults.tokensPerMinute,
    imagesPerMinute: own.imagesPerMinute ?? defaults.imagesPerMinute,
    concurrency: own.concurrency ?? defaults.concurrency,
  }
}

/** The points that an admitted call takes of a window. */
function pointsOf({ kind, limit }: WindowLimit, demand: Demand): number {
  if (kind === 'requests') return 1
  if (kind === 'images') return demand.images
  const { certain, assumed } = demand.tokens()
  // The estimated part alone must not refuse a call in an unused window.
  return Math.max(certain, Math.min(certain + assumed, limit))
}

function usedOf(kind: WindowKind, { inputTokens, outputTokens, images }: Used): number {
  if (kind === 'requests') return 1
  return kind === 'images' ? images : inputTokens + outputTokens
}

const statusesOfMalformed = new Set([400, 413, 415])

/**
 * Counts malformed calls as requests, so that a key cannot send malformed calls without limit. Admitted calls
 * are counted already.
 */
export function refusedCounter(admit: Admit): CountRefused {
  return async (thrown, caller) => {
    if (caller === undefined || !(thrown instanceof GatewayError)) return thrown
    const { status, progress } = thrown
    if (!statusesOfMalformed.has(status) || progress.limits !== undefined) return thrown
    try {
      await countRequest(admit, caller)
      return thrown
    } catch (refusal) {
      return refusal
    }
  }
}

type Refused = { state: LimitState; needed: number }

/** `Retry-After` for concurrent calls: a running call may end at any moment. */
const callEndsSeconds = 1
/** The longest `Retry-After`; used where waiting does not help. */
const longSeconds = 60

/** Returns the error for the limit with the longest wait. `limits` are all limits of the caller. */
function refusalOf(refused: readonly Refused[], limits: readonly LimitState[]): GatewayError {
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
  const { who, changer } = owners[owner]
  const may = `${who} may ${deeds[kind](limit)}`
  if (limit === 0) return `${may}: the limit is 0. ${changer} can change it.`
  if (kind === 'concurrency') return `${may}. Try again when one of them has ended.`
  const again = `Try again in ${window?.resetSeconds ?? callEndsSeconds} s`
  if (kind === 'requests') return `${may}. ${again}.`
  const left = remaining === 1 ? '1 is left' : `${remaining} are left`
  const needs = `${left}, and this call ${wishes[kind](needed)}`
  if (needed <= limit) return `${may}; ${needs}. ${again}, or ${remedies[kind]}.`
  return `${may}, and this call alone ${wishes[kind](needed)}. Waiting does not help: ${remedies[kind]}.`
}

const owners: Record<LimitState['owner'], { who: string; changer: string }> = {
  account: { who: 'This account', changer: 'Who runs the gateway' },
  key: { who: 'This API key', changer: 'Who manages the keys of the account' },
  member: {
    who: 'By your limit in this account, all your keys, sessions and connections together',
    changer: 'An administrator of the account',
  },
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
