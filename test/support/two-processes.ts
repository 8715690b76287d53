import { startGateway, type TestGateway } from './gateway.ts'
import { startRedis, type TestRedis } from './servers/redis.ts'

/** Two gateways with one store, which communicate through Redis. */
export type TwoProcesses = {
  a: TestGateway
  b: TestGateway
  redis: TestRedis
  stop(): Promise<void>
}

type Options = NonNullable<Parameters<typeof startGateway>[0]> & {
  /** Clocks, one per gateway. */
  clocks?: readonly [() => number, () => number]
}

/** Starts both gateways in this process. */
export async function startTwo(options: Options): Promise<TwoProcesses> {
  const redis = await startRedis()
  const start = (index: number, beside?: TestGateway) =>
    startGateway({ ...options, ...clockOf(options, index), beside, redisUrl: redis.url })
  const a = await start(0)
  const b = await start(1, a)
  return {
    a,
    b,
    redis,
    stop: async () => {
      await b.stop()
      await a.stop()
      await redis.stop()
    },
  }
}

function clockOf({ clocks }: Options, index: number): Pick<Options, 'clock' | 'monotonic'> {
  const clock = clocks?.[index]
  return clock === undefined ? {} : { clock, monotonic: () => performance.now() }
}
