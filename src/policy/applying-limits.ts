import type { Caller, UsageLimits } from '../core/caller.ts'
import type { LimitState, WindowKind } from '../core/limits.ts'

/** A limit of a caller that is counted in windows. */
export type WindowLimit = Pick<LimitState, 'owner' | 'limit'> & {
  kind: WindowKind
  /** Names its windows. */
  key: string
}
/** A limit of the calls that a caller has at once. */
export type CallLimit = Pick<LimitState, 'owner' | 'limit'> & { ownerId: string }
export type ApplyingLimits = { windows: readonly WindowLimit[]; calls: readonly CallLimit[] }

const windowKinds = [
  ['requests', 'requestsPerMinute'],
  ['tokens', 'tokensPerMinute'],
  ['images', 'imagesPerMinute'],
] as const

/** The limits that apply to a caller: those of the account, else the defaults, and those of the key. */
export function createApplyingLimits(
  defaults: () => UsageLimits,
): (caller: Caller) => ApplyingLimits {
  let inForce: UsageLimits | undefined
  let known = new WeakMap<Caller, ApplyingLimits>()

  const read = (caller: Caller, others: UsageLimits): ApplyingLimits => {
    const [account, key] = caller.allowances
    const owners = [
      { owner: 'account', ownerId: account.ownerId, limits: orElse(account.limits, others) },
      { owner: 'key', ownerId: key.ownerId, limits: key.limits },
    ] as const
    return {
      windows: windowKinds.flatMap(([kind, name]) =>
        owners.flatMap(({ owner, ownerId, limits: { [name]: limit } }): WindowLimit[] => {
          if (limit === null) return []
          return [{ kind, owner, key: `${kind}:${ownerId}`, limit }]
        }),
      ),
      calls: owners.flatMap(({ owner, ownerId, limits: { concurrency: limit } }): CallLimit[] =>
        limit === null ? [] : [{ owner, ownerId, limit }],
      ),
    }
  }
  return (caller) => {
    const now = defaults()
    // A reload gives others.
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
