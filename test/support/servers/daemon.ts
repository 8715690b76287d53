import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestProgram } from '../../../scripts/test-servers/programs.ts'
import { programPath } from '../program-path.ts'
import { childrenOf } from '../child-processes.ts'

/** A real server on a port of this machine, which ends with this process at the latest. */
export type Daemon = {
  /** Signals the server's own process: SIGKILL, SIGSTOP, SIGCONT. */
  kill(signal: NodeJS.Signals): void
  /** Signals the processes that it has started as well: of PostgreSQL, those of its connections. */
  killAll(signal: NodeJS.Signals): void
  /** Ends it and removes its folder, unless that is kept for a next start. */
  stop(options?: { keepsFolder?: boolean }): Promise<void>
}

type Options = {
  program: TestProgram
  words: readonly string[]
  /** On its output when it takes connections; undefined where `isReady` tells. */
  ready?: RegExp
  /** Asked again and again until it is true. */
  isReady?: () => Promise<boolean>
  /** The signal that ends it. */
  stopSignal: NodeJS.Signals
  /** Whom it runs as. */
  user?: { uid: number; gid: number } | undefined
  folder: string
}

const startTimeoutMs = 30_000
const outputMax = 100_000

/** The server ends when its standard input does, so also when this process is killed; so does its folder. */
const watched = `
{
  sh -c 'echo $$ >pid; echo "pid $$"; exec "$@"' sh "$@" </dev/null
  echo "ended with $?"
} &
read -r last
kill -$STOP_SIGNAL "$(cat pid)" 2>/dev/null
wait
[ "$last" = keep ] || rm -rf "$PWD"
`

/** Starts a server; rejects with its output when it ends, or is not ready in time. */
export async function startDaemon(options: Options): Promise<Daemon> {
  const { program, words, ready, isReady, stopSignal, user = {}, folder } = options
  const signal = stopSignal.replace(/^SIG/, '')
  const child = spawn('sh', ['-c', watched, 'sh', programPath(program), ...words], {
    cwd: folder,
    env: { ...process.env, STOP_SIGNAL: signal },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...user,
  })
  let output = ''
  const add = (piece: string) => (output = (output + piece).slice(-outputMax))
  child.stdout.setEncoding('utf8').on('data', add)
  child.stderr.setEncoding('utf8').on('data', add)
  child.stdin.on('error', () => undefined)
  const closed = once(child, 'close')
  const until = performance.now() + startTimeoutMs
  const isUp = async () => ready?.test(output) ?? (await isReady?.()) ?? true
  while (!(await isUp())) {
    if (/^ended with/m.test(output) || performance.now() > until) {
      child.stdin.end('keep\n')
      throw new Error(`${program} did not start.\n${output}`)
    }
    await sleep(10)
  }
  const pid = Number(/^pid (\d+)$/m.exec(output)?.[1])
  // A test process that has nothing else to do may end.
  child.unref()
  for (const pipe of [child.stdin, child.stdout, child.stderr]) unref(pipe)
  return {
    kill: (name) => void process.kill(pid, name),
    killAll: (name) => {
      // Itself first: it then starts no further one.
      process.kill(pid, name)
      for (const child of childrenOf(pid)) sendSignal(child, name)
    },
    stop: async ({ keepsFolder = false } = {}) => {
      child.ref()
      child.stdin.end(keepsFolder ? 'keep\n' : '')
      await closed
    },
  }
}

/** To a process that may have ended since it was listed. */
function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Pipes of child processes are sockets, whose types do not tell. */
function unref(pipe: unknown): void {
  ;(pipe as { unref(): void }).unref()
}
