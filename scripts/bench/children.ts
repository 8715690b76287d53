import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

// The driver and the mock share a core, so that the measured process has the second core alone.
export const driverCore = 0
export const measuredCore = 1
/** Candidates that consist of several processes use both cores. */
export const bothCores = `${driverCore},${measuredCore}`

const stopTimeoutMs = 10_000

type Cores = number | typeof bothCores

export type Child = { processId: number; core: Cores; process: ChildProcess }

export type Children = ReturnType<typeof childProcesses>

type StartOptions = {
  core: Cores
  flags?: string[]
  args?: string[]
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Receives the child's stderr, which is printed if the child dies; stdout is discarded. */
  logFile?: string
}

export const childProcesses = ({ onDeath }: { onDeath: (message: string) => void }) => {
  const pinned = pinDriver()
  const alive = new Set<Child>()
  const stopping = new Set<Child>()

  const start = (script: string, options: StartOptions): Child => {
    const { core, flags = [], args = [], cwd, env, logFile } = options
    const pinning = pinned ? ['taskset', '-c', String(core)] : []
    const command = [...pinning, process.execPath, ...flags, script, ...args]
    const log = logFile === undefined ? undefined : openSync(logFile, 'a')
    const stdio: StdioOptions = log ? ['ignore', 'ignore', log] : ['ignore', 'pipe', 'inherit']
    const started = spawn(command[0] ?? '', command.slice(1), { cwd, env, stdio })
    if (log) closeSync(log)
    const child = { processId: started.pid ?? 0, core, process: started }
    alive.add(child)
    started.once('error', (error) => onDeath(`${script} did not start: ${error.message}`))
    started.once('exit', (code, signal) => {
      alive.delete(child)
      if (stopping.has(child)) return
      const lastWords = logFile ? readFileSync(logFile, 'utf8').slice(-2000) : ''
      onDeath(`${script} ended unexpectedly (${signal ?? code}). ${lastWords}`)
    })
    return child
  }

  const stop = async (child: Child): Promise<void> => {
    stopping.add(child)
    if (!alive.has(child)) return
    const exited = once(child.process, 'exit')
    child.process.kill('SIGTERM')
    const deadline = setTimeout(() => child.process.kill('SIGKILL'), stopTimeoutMs)
    await exited
    clearTimeout(deadline)
  }

  const killAll = (): void => {
    for (const child of alive) child.process.kill('SIGKILL')
  }

  return { pinned, alive: alive as ReadonlySet<Child>, start, stop, killAll }
}

const pinDriver = (): boolean =>
  taskset('-c', String(measuredCore), 'true') &&
  taskset('-a', '-c', '-p', String(driverCore), String(process.pid))

const taskset = (...args: string[]): boolean =>
  spawnSync('taskset', args, { stdio: 'ignore' }).status === 0

/** The port number that a child process prints as its first line. */
export const printedPort = async ({ process: { stdout } }: Child): Promise<number> => {
  if (!stdout) throw new Error('The stdout of this child is not read.')
  const [line] = await once(createInterface(stdout), 'line')
  return Number(line)
}
