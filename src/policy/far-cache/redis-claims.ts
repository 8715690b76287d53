import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Claim } from '../../core/recall/in-flight.ts'
import type { Remembered } from '../../core/recall/remembered.ts'
import type { Redis } from '../../peers/redis.ts'
import type { Circuit } from './circuit.ts'

type Options = {
  redis: Pick<Redis, 'run'>
  /** Of the far cache. */
  circuit: Circuit
  /** Before each name; other gateways in the same Redis have another one. */
  namespace: string
  timeoutMs: () => number
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
const unkept = 'unkept'

/** Takes what nobody has; the answer is who has it, as it was then. */
const take = `local held = redis.call('GET', KEYS[1])
if held then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`
const renew = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`
const release = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`
const tellUnkept = `if redis.call('GET', KEYS[1]) == ARGV[1] then
redis.call('SET', KEYS[1], '${unkept}', 'PX', ARGV[2]) end`

/**
 * Joins identical calls of several replicas by a lease in Redis. Where Redis fails each makes its own
 * answer, and so does who finds that a lease has run out: a lease saves calls, it is no promise.
 */
export function createRedisClaims(options: Options): (key: string) => Claim<Remembered> {
  const { redis, namespace, circuit, timeoutMs, isOn, recallFar } = options
  const run = (script: string, key: string, words: readonly (string | number)[]) => {
    const all = { keys: [`${namespace}::${key}`], arguments: words.map(String) }
    return redis.run((commands) => commands.eval(script, all), timeoutMs())
  }
  const runQuietly = (...asked: Parameters<typeof run>) => void run(...asked).catch(circuit.failed)

  return (key) => {
    const token = randomUUID()
    let isMine = false
    let isOver = false
    let renewal: NodeJS.Timeout | undefined
    /** Whether it is to be made here now; undefined while another makes it. */
    const tryTake = async (): Promise<'mine' | 'unjoined' | undefined> => {
      const held = await run(take, key, [token, leaseMs])
      if (held === unkept) return 'unjoined'
      if (held !== token) return undefined
      isMine = true
      return 'mine'
    }
    const end = (script: string, ms = 0): void => {
      isOver = true
      clearInterval(renewal)
      if (isMine) runQuietly(script, key, [token, ms])
      isMine = false
    }
    const begin = (): void => {
      // Whoever waited may have left meanwhile.
      if (isOver) return end(release)
      renewal = setInterval(() => runQuietly(renew, key, [token, leaseMs]), renewalMs)
      renewal.unref()
    }
    const look = async (): Promise<Remembered | undefined> => {
      if (!isOn() || !circuit.isWhole()) return recallFar(key)
      // One round trip for both.
      let [taken, answer] = await Promise.all([tryTake(), recallFar(key)])
      for (let waitMs = pollMs.first; taken === undefined && answer === undefined;) {
        await pause(waitMs)
        if (isOver) return undefined
        waitMs = Math.min(waitMs * pollMs.factor, pollMs.longest)
        taken = await tryTake()
        if (taken !== undefined) answer = await recallFar(key)
      }
      if (answer !== undefined) end(release)
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
        if (kept === undefined) return end(tellUnkept, unkeptMs)
        // Before it is there, nobody else may find that it is not.
        void kept.then((isKept) => (isKept ? end(release) : end(tellUnkept, unkeptMs)))
      },
      leave: () => end(release),
    }
  }
}
