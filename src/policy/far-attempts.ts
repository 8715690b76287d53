import { createHash } from 'node:crypto'
import { createScript, type ScriptRunner } from '../peers/redis-script.ts'
import { within } from '../peers/within.ts'
import { attemptScript } from './attempt-script.ts'
import type { AttemptChange, AttemptNeed, Attempts } from './attempts.ts'

/** What one process asks of where attempts are counted for all; answered as `Attempts.begin` gives. */
type AttemptQuestion =
  | readonly [name: 'begin', needs: readonly AttemptNeed[]]
  | readonly [name: 'settle', changes: readonly AttemptChange[]]
export type AttemptExchange = (question: AttemptQuestion) => Promise<unknown>

type Options = {
  exchange: AttemptExchange
  /** How long an answer may take. */
  timeoutMs: () => number
  /** Counts while nobody answers. */
  near: Attempts
}

/** Counts attempts where all processes count them; while nobody answers there, in this one. */
export function createFarAttempts({ exchange, timeoutMs, near }: Options): Attempts {
  return {
    begin: async (needs) => {
      const question = ['begin', needs.map(digested)] as const
      const answer = await within(timeoutMs(), exchange(question)).catch(() => undefined)
      return typeof answer === 'number' ? answer : near.begin(needs)
    },
    settle: (changes) => {
      // It may have been counted here before.
      near.settle(changes.filter(([, more]) => more !== 1))
      exchange(['settle', changes.map(digested)]).catch(() => {
        near.settle(changes.filter(([, more]) => more === 1))
      })
    },
  }
}

/** Whom attempts are of is not for others to read. */
function digested<Rest extends readonly unknown[]>([key, ...rest]: readonly [string, ...Rest]) {
  return [createHash('sha256').update(key).digest('base64url').slice(0, 22), ...rest] as const
}

const runScript = createScript(attemptScript)

/** What is needed of the connection (peers/redis.ts). */
type Redis = { run<T>(work: (commands: ScriptRunner) => Promise<T>): Promise<T> }

/** Counts attempts in Redis. */
export function countAttemptsOnRedis(redis: Redis): AttemptExchange {
  return ([name, list]) => {
    const words = { keys: ['attempts'], arguments: [name, JSON.stringify(list)] }
    return redis.run((commands) => runScript(commands, words))
  }
}
