import { hash } from 'node:crypto'
import type { LimitExchange } from './limit-operations.ts'
import { limitScript } from './limit-script.ts'

/** What is needed of the connection (peers/redis.ts). */
type Script = { keys: string[]; arguments: string[] }
type Commands = {
  evalSha(sha1: string, script: Script): Promise<unknown>
  eval(text: string, script: Script): Promise<unknown>
}
type Redis = { run<T>(work: (commands: Commands) => Promise<T>, timeoutMs?: number): Promise<T> }

const digest = hash('sha1', limitScript)
/** Who asks has a shorter patience, but may have to take back what was taken late. */
const lateAnswerMs = 60_000

/** Carries out what is asked in one script, which Redis is sent again when it has forgotten it. */
export function createCountsOnRedis(redis: Redis, processId: string): LimitExchange {
  return (operations) => {
    const script = { keys: ['limits'], arguments: [processId, JSON.stringify(operations)] }
    return redis.run(async (commands) => {
      const answers = await commands.evalSha(digest, script).catch((error: unknown) => {
        if (!isForgotten(error)) throw error
        return commands.eval(limitScript, script)
      })
      // What the script returns.
      return answers as readonly (readonly number[])[]
    }, lateAnswerMs)
  }
}

function isForgotten(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}
