import { createScript, type ScriptRunner } from '../peers/redis-script.ts'
import type { LimitExchange } from './limit-operations.ts'
import { limitScript } from './limit-script.ts'

/** What is needed of the connection (peers/redis.ts). */
type Redis = {
  run<T>(work: (commands: ScriptRunner) => Promise<T>, timeoutMs?: number): Promise<T>
}

/** Who asks has a shorter patience, but may have to take back what was taken late. */
const lateAnswerMs = 60_000
const runScript = createScript(limitScript)

/** Carries out what is asked in one script. */
export function createCountsOnRedis(redis: Redis, processId: string): LimitExchange {
  return async (operations) => {
    const words = { keys: ['limits'], arguments: [processId, JSON.stringify(operations)] }
    const answers = await redis.run((commands) => runScript(commands, words), lateAnswerMs)
    // What the script returns.
    return answers as readonly (readonly number[])[]
  }
}
