import { RedisRefusal } from './peers/redis-trouble.ts'
import { StoreError } from './storage/store-error.ts'

/** An error of the start whose message says it all. */
export class StartError extends Error {
  override name = 'StartError'
}

/** Why the gateway cannot start: one sentence where that says it all. */
export function startFailure(error: Error): string {
  const isTold = [StartError, StoreError, RedisRefusal].some((kind) => error instanceof kind)
  const text = isTold ? error.message : (error.stack ?? error.message)
  return `The gateway cannot start: ${text}\n`
}
