import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from '../../test/support/chance.ts'
import { childrenOf } from '../../test/support/child-processes.ts'
import { until } from '../../test/support/until.ts'
import type { Fleet } from './fleet.ts'

/** A process to kill; the function that `kill` returns restarts it. */
export type Victim = { workers: boolean; kill(fleet: Fleet, chance: Chance): () => Promise<void> }

const awayMs = 300
/** After repeated deaths the gateway pauses before it starts the next worker. */
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
