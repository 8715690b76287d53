import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'

/** A unique name of this process: host, process id and a UUID, since process ids are reused. */
export const processName = `${hostname()} ${process.pid} ${randomUUID()}`

/** Whether the named process has certainly ended; false for a process on another host. */
export function hasEnded(name: string): boolean {
  if (name === processName) return false
  const [host, pid] = name.split(' ')
  if (host !== hostname()) return false
  return Number(pid) === process.pid || !isRunning(Number(pid))
}

/** Whether a process with this id runs on this host. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM means that the process runs as another user.
    return (error as { code?: string }).code === 'EPERM'
  }
}
