import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Circuit } from '../../core/resilience/circuit.ts'
import type { Claim } from '../../core/recall/in-flight.ts'
import type { Remembered } from '../../core/recall/remembered.ts'
import { leases, type AskRedis, type RedisOperation } from './redis-operations.ts'

type Options = {
  ask: AskRedis
  /** Of the far cache. */
  circuit: Circuit
  /** Before each name; other gateways in the same Redis have another one. */
  namespace: string
  /** Whether answers are remembered at all: those of others are found nowhere else. */
  isOn: () => boolean
  recallFar: (key: string) => Promise<Remembered | undefined>
}

/** A process that died, or hangs, makes no answer. */
const leaseMs = 10_000
const renewalMs = 3_000
const pollMs = { first: 25, factor: 1.5, longest: 250 }
/** Those who wait do not make an answer that cannot be kept one after the other. */
const unkeptMs = 2_000

/**
 * Joins identical calls of several replicas by a lease in Redis. Where Redis fails each makes its own
 * answer, and so does who finds that a lease has run out: a lease saves calls, it is no promise.
 */
export function createRedisClaims(options: Options): (key: string) => Claim<Remembered> {
  const { ask, namespace, circuit, isOn, recallFar } = options
  const askQuietly = (operation: RedisOperation) =>
    void ask(operation).catch(() => circuit.failed())

  return (name) => {
    const key = `${namespace}::${name}`
    const token = randomUUID()
    let isMine = false
    let isOver = false
    let renewal: NodeJS.Timeout | undefined
    /** Whether it is to be made here now; undefined while another makes it. */
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
    const tellUnkept = (): void => end({ name: 'unkept', key, ms: unkeptMs, token })
    const begin = (): void => {
      // Whoever waited may have left meanwhile.
      if (isOver) return release()
      const renew = { name: 'renew', key, ms: leaseMs, token } as const
      renewal = setInterval(() => askQuietly(renew), renewalMs)
      renewal.unref()
    }
    const look = async (): Promise<Remembered | undefined> => {
      if (!isOn() || circuit.view().state !== 'closed') return recallFar(name)
      // One message for both.
      let [taken, answer] = await Promise.all([tryTake(), recallFar(name)])
      for (let waitMs = pollMs.first; taken === undefined && answer === undefined;) {
        await pause(waitMs)
        if (isOver) return undefined
        waitMs = Math.min(waitMs * pollMs.factor, pollMs.longest)
        taken = await tryTake()
        if (taken !== undefined) answer = await recallFar(name)
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
        if (kept === undefined) return tellUnkept()
        // Before it is there, nobody else may find that it is not.
        void kept.then((isKept) => (isKept ? release() : tellUnkept()))
      },
      leave: release,
    }
  }
}
