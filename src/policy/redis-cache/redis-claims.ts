import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Circuit } from '../../core/resilience/circuit.ts'
import type { Claim } from '../../core/repeats/in-flight.ts'
import type { CachedAnswer } from '../../core/repeats/cached-answer.ts'
import { leases, type AskRedis, type RedisOperation } from './redis-operations.ts'

type Options = {
  ask: AskRedis
  /** The circuit breaker of the shared cache. */
  circuit: Circuit
  /** Prefix of each key; each gateway in the same Redis has a different prefix. */
  namespace: string
  /** Whether the cache is on. Answers of other processes are found only in the cache. */
  isOn: () => boolean
  readSharedCache: (key: string) => Promise<CachedAnswer | undefined>
}

/** If a process dies or hangs, its lease expires after this time. */
const leaseMs = 10_000
const renewalMs = 3_000
const pollMs = { first: 25, factor: 1.5, longest: 250 }
/** For this long, waiting processes call the provider in parallel when the answer could not be cached. */
const unkeptMs = 2_000

/**
 * Joins identical calls of several replicas through a lease in Redis. If Redis fails or a lease expires, each
 * process calls the provider itself: the lease saves calls but guarantees nothing.
 */
export function createRedisClaims(options: Options): (key: string) => Claim<CachedAnswer> {
  const { ask, namespace, circuit, isOn, readSharedCache } = options
  const askQuietly = (operation: RedisOperation) =>
    void ask(operation).catch(() => circuit.failed())

  return (name) => {
    const key = `${namespace}::${name}`
    const token = randomUUID()
    let isMine = false
    let isOver = false
    let renewal: NodeJS.Timeout | undefined
    /** Whether this process should call the provider now; undefined while another process does. */
    const tryTake = async (): Promise<'mine' | 'unjoined' | undefined> => {
      const lease = await ask({ name: 'take', key, ms: leaseMs, token })
      if (lease === leases.isUnkept) return 'unjoined'
      if (lease !== leases.isMine) return undefined
      isMine = true
      return 'mine'
    }
    const end = (last: RedisOperation): void => {
      isOver = true
      clearInterval(renewal)
      if (isMine) askQuietly(last)
      isMine = false
    }
    const release = (): void => end({ name: 'release', key, token })
    const reportNotStored = (): void => end({ name: 'unkept', key, ms: unkeptMs, token })
    const begin = (): void => {
      // All waiting clients may have disconnected while the lease was taken.
      if (isOver) return release()
      const renew = { name: 'renew', key, ms: leaseMs, token } as const
      renewal = setInterval(() => askQuietly(renew), renewalMs)
      renewal.unref()
    }
    const look = async (): Promise<CachedAnswer | undefined> => {
      if (!isOn() || circuit.view().state !== 'closed') return readSharedCache(name)
      // The lease and the answer are requested in one message.
      let [taken, answer] = await Promise.all([tryTake(), readSharedCache(name)])
      for (let waitMs = pollMs.first; taken === undefined && answer === undefined;) {
        await pause(waitMs)
        if (isOver) return undefined
        waitMs = Math.min(waitMs * pollMs.factor, pollMs.longest)
        taken = await tryTake()
        if (taken !== undefined) answer = await readSharedCache(name)
      }
      if (answer !== undefined) release()
      else if (taken === 'mine') begin()
      return answer
    }
    const elsewhere = look().catch(() => {
      circuit.failed()
      return undefined
    })
    return {
      elsewhere,
      succeed: (_answer, kept) => {
        if (kept === undefined) return reportNotStored()
        // The lease is held until the write ends, so that no other process takes it and misses the answer.
        void kept.then((isKept) => (isKept ? release() : reportNotStored()))
      },
      leave: release,
    }
  }
}
