import { performance } from 'node:perf_hooks'

// Loaded into the gateway (`node --import`): reports over IPC how long its event loop was blocked.

/** The longest pause of an event loop since the last report, in milliseconds. */
export type Pause = {
  /** CPU time of the event loop's thread, which does not depend on other load of the machine. */
  cpuMs: number
  /** Elapsed time, which other load of the machine increases. */
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

/** Measures the time since the last run. A blocked event loop delays this timer as it delays requests. */
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
