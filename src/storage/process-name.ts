import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'

/** What this process writes its name into; another one of the same number has another name. */
export const processName = `${hostname()} ${process.pid} ${randomUUID()}`

/** Whether the process of a name has ended for certain; of one on another host nobody knows. */
export function hasEnded(name: string): boolean {
  if (name === processName) return false
  const [host, pid] = name.split(' ')
  if (host !== hostname()) return false
  return Number(pid) === process.pid || !isRunning(Number(pid))
}

/** Whether this host has a process of that number. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM says that it runs as another user.
    return (error as { code?: string }).code === 'EPERM'
  }
}
