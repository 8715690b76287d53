import { performance } from 'node:perf_hooks'

// Loaded into the gateway (`node --import`): tells over IPC how long its event loop stood still.

/** The longest pause of an event loop since it was last asked for, in milliseconds. */
export type Pause = {
  /** What the loop's thread itself worked meanwhile, however busy the machine is. */
  cpuMs: number
  /** By the clock, which other work on the machine makes longer. */
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

/** Called by a timer: as late as it comes, anybody else is answered. */
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
