import { loadConfig } from '../../src/config.ts'
import { relayAnnouncements } from '../../src/peers/line-channel.ts'
import { countForWorkers } from '../../src/policy/counts-for-workers.ts'
import { countAttemptsForWorkers } from '../../src/policy/far-attempts.ts'
import { judgeClaims } from '../../src/policy/far-cache/claim-judge.ts'
import { holdBytes } from '../../src/policy/far-cache/primary-bytes.ts'
import { keepSettings } from '../../src/workers/settings-in-force.ts'
import { startGateway, type TestGateway } from './gateway.ts'
import { processLines } from './process-lines.ts'
import { startRedis, type TestRedis } from './servers/redis.ts'

/** Two gateways on one store, which hear each other. */
export type TwoProcesses = {
  a: TestGateway
  b: TestGateway
  /** Where they hear each other through it. */
  redis: TestRedis | undefined
  stop(): Promise<void>
}

type Options = NonNullable<Parameters<typeof startGateway>[0]> & {
  /** Of each its own. */
  clocks?: readonly [() => number, () => number]
}

/** Starts both in this process, as replicas with a Redis or as workers with a primary. */
export async function startTwo(over: 'Redis' | 'primary', options: Options): Promise<TwoProcesses> {
  const redis = over === 'Redis' ? await startRedis() : undefined
  const lines = over === 'primary' ? processLines(2, { messageBytesMax: 16_777_216 }) : undefined
  if (lines !== undefined) {
    relayAnnouncements(lines.primary)
    const onFailure = (_: unknown, error: unknown) => void lines.faults.push(error)
    keepSettings({ settings: loadConfig({}), lines: lines.primary, onFailure })
    judgeClaims(lines.primary)
    const monotonic = () => performance.now()
    holdBytes({ lines: lines.primary, bytesMax: 33_554_432, monotonic })
    const onFault = (fault: unknown) => void lines.faults.push(fault)
    countForWorkers({ lines: lines.primary, monotonic, onFault })
    countAttemptsForWorkers({ lines: lines.primary, entriesMax: 1000, monotonic })
  }
  const start = (index: number, beside?: TestGateway) =>
    startGateway({
      ...options,
      ...clockOf(options, index),
      beside,
      redisUrl: redis?.url,
      primary: lines?.workers[index],
    })
  const a = await start(0)
  const b = await start(1, a)
  return {
    a,
    b,
    redis,
    stop: async () => {
      await b.stop()
      await a.stop()
      await redis?.stop()
    },
  }
}

function clockOf({ clocks }: Options, index: number): Pick<Options, 'clock' | 'monotonic'> {
  const clock = clocks?.[index]
  return clock === undefined ? {} : { clock, monotonic: () => performance.now() }
}
