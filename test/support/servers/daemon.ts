import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestProgram } from '../../../scripts/test-servers/programs.ts'
import { programPath } from '../program-path.ts'
import { childrenOf } from '../child-processes.ts'

/** A server in a child process, on a loopback port. The server ends when this process ends. */
export type Daemon = {
  /** Sends a signal to the server's own process: SIGKILL, SIGSTOP, SIGCONT. */
  kill(signal: NodeJS.Signals): void
  /** Sends a signal to the server's process and its child processes, such as PostgreSQL's connections. */
  killAll(signal: NodeJS.Signals): void
  /** Stops the server, and removes its folder unless `keepsFolder` is set. */
  stop(options?: { keepsFolder?: boolean }): Promise<void>
}

type Options = {
  program: TestProgram
  words: readonly string[]
  /** Output that shows that the server accepts connections; undefined with `isReady`. */
  ready?: RegExp
  /** Polled until it returns true, when the server accepts connections. */
  isReady?: () => Promise<boolean>
  /** Signal that stops the server. */
  stopSignal: NodeJS.Signals
  /** User that the server runs as. */
  user?: { uid: number; gid: number } | undefined
  folder: string
}

const startTimeoutMs = 60_000
const outputMax = 100_000

/** A shell script that stops the server and removes its folder when standard input closes, also after a kill. */
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

/** Starts a server. Rejects with the server's output when the server ends or is not ready in time. */
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
  // An open child process does not keep the test process running.
  child.unref()
  for (const pipe of [child.stdin, child.stdout, child.stderr]) unref(pipe)
  return {
    kill: (name) => void process.kill(pid, name),
    killAll: (name) => {
      // Stops the parent first, so that it starts no further child and does not end before they are listed.
      process.kill(pid, 'SIGSTOP')
      const children = childrenOf(pid)
      for (const each of [pid, ...children]) sendSignal(each, name)
    },
    stop: async ({ keepsFolder = false } = {}) => {
      child.ref()
      child.stdin.end(keepsFolder ? 'keep\n' : '')
      await closed
    },
  }
}

/** Sends a signal to a process that may have ended since it was listed. */
function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Pipes of child processes are sockets, although their types do not say so. */
function unref(pipe: unknown): void {
  ;(pipe as { unref(): void }).unref()
}
