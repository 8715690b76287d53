import { systemReason } from '../core/words/system-reason.ts'
import { RedisRefusal } from '../peers/redis-trouble.ts'
import { StoreError } from '../storage/store-error.ts'

/** An error of the start whose message says it all. */
export class StartError extends Error {
  override name = 'StartError'
}

/** Why a port cannot be listened on. */
export function listenFailure(cause: unknown, { host, port }: { host: string; port: number }) {
  // Errors of the system have a code.
  const { code } = cause as { code?: string }
  if (code === 'EADDRINUSE') {
    return new StartError('The address is in use already. Set PORT to another one.', { cause })
  }
  if (code === 'ENOTSUP') {
    return new StartError('Processes cannot share a port on this system. Set WORKERS=1.', { cause })
  }
  const text = `It cannot listen on ${host}, port ${port}: ${systemReason(cause)}. Set HOST or PORT otherwise.`
  return new StartError(text, { cause })
}

/** Why the gateway cannot start: one sentence where that says it all. */
export function startFailure(error: Error): string {
  const isTold = [StartError, StoreError, RedisRefusal].some((kind) => error instanceof kind)
  const text = isTold ? error.message : (error.stack ?? error.message)
  return `The gateway cannot start: ${text}\n`
}
