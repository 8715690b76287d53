import type { GatewayError } from '../core/error.ts'

type Options = {
  /** What an account has in the store. */
  count: (accountId: string) => Promise<number>
  /** The most that an account may have, and after how much more it is counted again. */
  limits: () => { most: number; step: number }
  monotonic: () => number
  refusal: (count: number, most: number) => GatewayError
}

/** Other processes, and deletions, change what accounts have. */
const trustedMs = 60_000

/** Bounds what each account has in the store, without counting it for each call. */
export function createRoom({ count, limits, monotonic, refusal }: Options) {
  const left = new Map<string, number>()
  let clearAt = 0
  return {
    /** Throws if the account has no room. */
    check: async (accountId: string): Promise<void> => {
      if (monotonic() >= clearAt) {
        left.clear()
        clearAt = monotonic() + trustedMs
      }
      if ((left.get(accountId) ?? 0) > 0) return
      const { most, step } = limits()
      const counted = await count(accountId)
      if (counted >= most) throw refusal(counted, most)
      left.set(accountId, Math.min(most - counted, step))
    },
    use: (accountId: string, amount: number): void => {
      left.set(accountId, (left.get(accountId) ?? 0) - amount)
    },
  }
}
