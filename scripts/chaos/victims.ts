import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from '../../test/support/chance.ts'
import { childrenOf } from '../../test/support/child-processes.ts'
import { until } from '../../test/support/until.ts'
import type { Fleet } from './fleet.ts'

/** Who is killed; the returned function brings it back. */
export type Victim = { workers: boolean; kill(fleet: Fleet, chance: Chance): () => Promise<void> }

const awayMs = 300
/** Behind many deaths in a row the next worker is started after a pause. */
const replacedMs = 30_000

export const victims: Readonly<Record<string, Victim>> = {
  gateway: {
    workers: false,
    kill: ({ replicas }, chance) => {
      const replica = replicas[chance.below(replicas.length)]!
      replica.kill('SIGKILL')
      return () => replica.restart()
    },
  },
  worker: {
    workers: true,
    kill: ({ replicas: [primary] }, chance) => {
      const before = childrenOf(primary!.processId())
      const victim = before[chance.below(before.length)]!
      process.kill(victim, 'SIGKILL')
      const isReplaced = () => {
        const now = childrenOf(primary!.processId())
        return !now.includes(victim) && now.length === before.length
      }
      return () => until('the worker is replaced', isReplaced, replacedMs)
    },
  },
  redis: {
    workers: false,
    kill: ({ redis }) => {
      redis.kill('SIGKILL')
      return async () => {
        await sleep(awayMs)
        await redis.restart()
      }
    },
  },
  postgres: {
    workers: false,
    kill: ({ postgres }) => {
      postgres.kill('SIGKILL')
      return async () => {
        await sleep(awayMs)
        await postgres.restart()
      }
    },
  },
}
