import { causeOf } from './cause.ts'
import type { Log } from './log.ts'

export type PrimaryEvents = ReturnType<typeof createPrimaryEvents>

export function createPrimaryEvents(log: Log) {
  return {
    workerStarted(started: { worker: number; pid: number }): void {
      log.info(started, 'worker is ready')
    },
    workerEnded(ended: { worker: number; pid: number; how: string }): void {
      log.error(ended, 'worker ended, restarting it')
    },
    /** Another gateway uses the folder of the store; the primary waits until that gateway ends. */
    folderTaken(text: string): void {
      log.warn(text)
    },
    faulted(error: unknown): void {
      log.error({ cause: causeOf(error) }, 'error in inter-process communication')
    },
    /** A signal without effect was received. */
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
