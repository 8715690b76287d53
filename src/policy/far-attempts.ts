import { createHash } from 'node:crypto'
import { createScript, type ScriptRunner } from '../peers/redis-script.ts'
import { within } from '../peers/within.ts'
import { attemptScript } from './attempt-script.ts'
import type { Attempts } from './attempts.ts'

const runScript = createScript(attemptScript)

type Options = {
  /** The connection (peers/redis.ts). */
  redis: { run<T>(work: (commands: ScriptRunner) => Promise<T>): Promise<T> }
  /** How long an answer may take. */
  timeoutMs: () => number
  /** Counts while Redis does not answer. */
  near: Attempts
}

/** Counts attempts in Redis for all processes; while it does not answer, in this one. */
export function createFarAttempts({ redis, timeoutMs, near }: Options): Attempts {
  const exchange = (name: 'begin' | 'settle', list: readonly unknown[]): Promise<unknown> => {
    const words = { keys: ['attempts'], arguments: [name, JSON.stringify(list)] }
    return redis.run((commands) => runScript(commands, words))
  }
  return {
    begin: async (needs) => {
      const asked = exchange('begin', needs.map(digested))
      const answer = await within(timeoutMs(), asked).catch(() => undefined)
      return typeof answer === 'number' ? answer : near.begin(needs)
    },
    settle: (changes) => {
      // It may have been counted here before.
      near.settle(changes.filter(([, more]) => more !== 1))
      exchange('settle', changes.map(digested)).catch(() => {
        near.settle(changes.filter(([, more]) => more === 1))
      })
    },
  }
}

/** Whom attempts are of is not for others to read. */
function digested<Rest extends readonly unknown[]>([key, ...rest]: readonly [string, ...Rest]) {
  return [createHash('sha256').update(key).digest('base64url').slice(0, 22), ...rest] as const
}
