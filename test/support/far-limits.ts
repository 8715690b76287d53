import { hash, randomUUID } from 'node:crypto'
import { createClient } from '@redis/client'
import type { Caller } from '../../src/core/caller.ts'
import type { Demand } from '../../src/core/limits.ts'
import {
  createCountsExchange,
  createCountsInRedis,
  type CountsExchange,
} from '../../src/policy/counts-in-redis.ts'
import { countsScript } from '../../src/policy/counts-script.ts'
import { createRateLimit } from '../../src/policy/rate-limit.ts'
import { unlimited } from './callers.ts'
import { callTimeoutMs, limitsInMemory, type TestLimits } from './limits.ts'
import { sharedRedis, type TestRedis } from './servers/redis.ts'

/** One of several processes that count limits together. */
export type TestProcess = TestLimits & {
  /** Log of changes between counting alone and counting together with other processes. */
  modes: readonly string[]
  /** Number of running processes, by which limits are divided while Redis is unreachable. */
  processes(): number
  /** Number of messages sent to the shared counts. */
  messages(): number
}

export type TestReplica = TestProcess & {
  /** Announces the process, which then looks for other processes. */
  beat(): Promise<unknown>
  /** Sends a command to Redis over its own connection. */
  command(words: readonly string[]): Promise<unknown>
  /** Simulates a process that died a while ago. */
  vanish(): Promise<void>
}

type Options = { exchange: CountsExchange; timeoutMs?: number; monotonic: () => number }
type Process = Omit<TestProcess, 'pass' | 'stop'> & { close(): Promise<void> }

/** Starts a process that counts through `exchange`. */
export function startProcess(processId: string, options: Options): Process {
  const { exchange, timeoutMs = 1000, monotonic } = options
  const settings = { limits: unlimited('').limits }
  const faults: unknown[] = []
  const modes: string[] = []
  let messages = 0
  const counts = createCountsInRedis({
    exchange: (operations) => {
      messages++
      return exchange(operations)
    },
    processId,
    timeoutMs: () => timeoutMs,
    monotonic,
    onAlone: (error) => {
      faults.push(error)
      modes.push('alone')
    },
    onJoint: () => void modes.push('together'),
  })
  const rateLimit = createRateLimit({ counts, defaults: () => settings.limits, monotonic })
  return {
    counts,
    settings,
    faults,
    modes,
    admit: async (caller: Caller, demand: Demand) => rateLimit.admit(caller, demand, callTimeoutMs),
    look: async (caller: Caller) => rateLimit.look(caller),
    processes: counts.processes,
    messages: () => messages,
    close: counts.close,
  }
}

/** The gateway's Lua script, with a clock that a test can advance. */
const timedScript = countsScript.replace(
  /^local now = .*$/m,
  "$& + (tonumber(redis.call('get', base .. ':passed')) or 0)",
)
const timedDigest = hash('sha1', timedScript)

// More than the time after which a process counts as dead.
const longAgoMs = 20_000

/** Processes with their own limits and connections to one Redis. */
export async function startReplicas(
  count: number,
  options: { redis?: TestRedis; timeoutMs?: number } = {},
): Promise<TestReplica[]> {
  const { redis = await sharedRedis(), ...rest } = options
  const keyPrefix = `${randomUUID()}:`
  const time = { passed: 0 }
  return Promise.all(
    Array.from({ length: count }, async (): Promise<TestReplica> => {
      const client = createClient({
        url: redis.url,
        keyPrefix,
        disableOfflineQueue: true,
        socket: { reconnectStrategy: 50, connectTimeout: 500 },
      })
      client.on('error', () => undefined)
      await client.connect()
      const processId = randomUUID()
      const exchange = createCountsExchange(
        {
          run: (work) =>
            work({
              evalSha: (_digest, script) => client.evalSha(timedDigest, script),
              eval: (_text, script) => client.eval(timedScript, script),
            }),
        },
        processId,
      )
      const { close, ...one } = startProcess(processId, {
        ...rest,
        exchange,
        monotonic: () => Math.trunc(performance.now()) + time.passed,
      })
      return {
        ...one,
        pass: async (ms) => {
          time.passed += ms
          await client.incrBy('limits:passed', ms)
        },
        beat: () => exchange([['beat']]),
        command: (words) => client.sendCommand([...words]),
        vanish: async () => {
          await client.zIncrBy('limits:processes', -longAgoMs, processId)
          client.destroy()
        },
        stop: async () => {
          await close()
          if (client.isOpen) client.destroy()
        },
      }
    }),
  )
}

/** Places where limits can be counted, for suites that test all of them. */
export const countedIn: Readonly<Record<string, () => Promise<TestLimits> | TestLimits>> = {
  memory: limitsInMemory,
  Redis: async () => (await startReplicas(1))[0]!,
}
