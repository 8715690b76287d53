import { performance } from 'node:perf_hooks'

// Loaded into the gateway (`node --import`): reports over IPC how long its event loop was blocked.

/** The longest pause of an event loop since the last report, in milliseconds. */
export type Pause = {
  /** CPU time of the loop's thread, which does not depend on the load of the machine. */
  cpuMs: number
  /** Elapsed time, which other work on the machine makes longer. */
  clockMs: number
}

const intervalMs = 2

let longest: Pause = { cpuMs: 0, clockMs: 0 }
let cpuAt = threadMs()
let clockAt = performance.now()

if (process.send !== undefined) {
  setInterval(look, intervalMs).unref()
  process.on('message', () => {
    look()
    process.send!(longest)
    longest = { cpuMs: 0, clockMs: 0 }
  })
  process.channel?.unref()
}

/** Runs on a timer: it is late by as much as any request would be. */
function look(): void {
  const [cpu, clock] = [threadMs(), performance.now()]
  longest = {
    cpuMs: Math.max(longest.cpuMs, cpu - cpuAt),
    clockMs: Math.max(longest.clockMs, clock - clockAt),
  }
  cpuAt = cpu
  clockAt = clock
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
