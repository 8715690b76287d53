import { readdirSync, readFileSync } from 'node:fs'

// Counters of Linux in /proc. On other systems each function returns NaN.

/** CPU time of all threads of a process, user and kernel. */
export const processCpuUs = (processId: number): number => {
  const folder = `/proc/${processId}/task`
  const threads = attempt(() => readdirSync(folder))
  if (!threads) return Number.NaN
  return threads.reduce((sumUs, thread) => sumUs + threadCpuUs(`${folder}/${thread}`), 0)
}

/** CPU time of a process and its descendants. */
export const processesCpuUs = (processId: number): number => {
  const path = `/proc/${processId}/task/${processId}/children`
  const children = (attempt(() => readFileSync(path, 'latin1')) ?? '').split(' ').filter(Boolean)
  return children.reduce(
    (sumUs, child) => sumUs + processesCpuUs(Number(child)),
    processCpuUs(processId),
  )
}

// A thread may end between the listing and the reading.
const threadCpuUs = (folder: string): number => {
  const schedstat = attempt(() => readFileSync(`${folder}/schedstat`, 'latin1')) ?? '0'
  return Number(schedstat.split(' ', 1)[0]) / 1000
}

export const processPeakMiB = (processId: number): number => memoryMiB(processId, 'VmHWM')

export const processMiB = (processId: number): number => memoryMiB(processId, 'VmRSS')

const memoryMiB = (processId: number, name: string): number => {
  const status = attempt(() => readFileSync(`/proc/${processId}/status`, 'latin1')) ?? ''
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
}

/** Busy time of a core since boot; time stolen by the hypervisor counts as busy. */
export const coreBusyUs = (core: number): number => {
  const stat = attempt(() => readFileSync('/proc/stat', 'latin1')) ?? ''
  const row = new RegExp(`^cpu${core} (.+)$`, 'm').exec(stat)?.[1]
  if (!row) return Number.NaN
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = row
    .split(' ')
    .map(Number)
  return (user + nice + system + irq + softIrq + steal) * tickUs
}

// USER_HZ is 100 on every Linux that Node runs on.
const tickUs = 10_000

const attempt = <T>(read: () => T): T | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}
