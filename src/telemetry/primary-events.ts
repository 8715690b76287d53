import { causeOf } from './cause.ts'
import type { Log } from './log.ts'

/** What the primary logs. */
export type PrimaryEvents = ReturnType<typeof createPrimaryEvents>

export function createPrimaryEvents(log: Log) {
  return {
    workerStarted(started: { worker: number; pid: number }): void {
      log.info(started, 'worker is ready')
    },
    workerEnded(ended: { worker: number; pid: number; how: string }): void {
      log.error(ended, 'worker ended, restarting it')
    },
    /** Another gateway has the folder of the store, and is waited for. */
    folderTaken(text: string): void {
      log.warn(text)
    },
    faulted(error: unknown): void {
      log.error({ cause: causeOf(error) }, 'error in inter-process communication')
    },
    /** A signal that changes nothing. */
    ignored(signal: string): void {
      log.warn({ signal }, 'signal ignored')
    },
    stopping(signal: string): void {
      log.info({ signal }, 'draining')
    },
    stopped(): void {
      log.info('stopped')
    },
  }
}
