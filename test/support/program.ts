import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Variables } from '../../src/settings/config.ts'
import { projectFolder } from './folder.ts'

const startTimeoutMs = 60_000

// Compiled code is cached in this folder, which halves the start time of child processes.
const compileCache = join(tmpdir(), 'gateway-test-compile-cache')

/** Exit code and output of a program. */
export type Ended = {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}
export type Program = {
  processId: number
  stdout(): string
  stderr(): string
  /** Resolves when the program has ended and its output is complete. */
  ended: Promise<Ended>
  kill(signal: NodeJS.Signals): void
  /** Kills the program's process group, when it has one of its own. */
  killGroup(): void
  /** Resolves when `pattern` appears on stdout; rejects when the program ends or the time is over. */
  printed(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>
}
type Options = {
  /** Working folder, from which `.env` is read. */
  folder: string
  variables?: Variables
  /** Whether the program gets its own process group. */
  isGroup?: boolean
}

/** Starts a program with only the given variables and PATH. */
export function startProgram(
  command: string,
  words: readonly string[],
  { folder, variables, isGroup = false }: Options,
): Program {
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, NODE_COMPILE_CACHE: compileCache, ...variables }
  const child = spawn(command, words, {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: isGroup,
  })
  const text = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text.stdout += piece))
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (text.stderr += piece))
  const ended = once(child, 'close').then(([code, signal]): Ended => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
    ...text,
  }))
  const printed = (pattern: RegExp, timeoutMs = startTimeoutMs) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const fail = (why: string) =>
        reject(new Error(`${why}\nstdout: ${text.stdout}\nstderr: ${text.stderr}`))
      const limit = setTimeout(
        () => fail(`It did not print ${String(pattern)} in time.`),
        timeoutMs,
      )
      const look = () => {
        const found = pattern.exec(text.stdout)
        if (found === null) return
        clearTimeout(limit)
        resolve(found)
      }
      child.stdout.on('data', look)
      look()
      void ended.then(({ code, signal }) => {
        clearTimeout(limit)
        fail(`It ended with ${code ?? signal}.`)
      })
    })
  return {
    processId: child.pid!,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    ended,
    kill: (signal) => void child.kill(signal),
    killGroup: () => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // Ignores the error: all processes of the group have ended already.
      }
    },
    printed,
  }
}

/** Runs a script with Node to its end. */
export function runProgram(
  script: string,
  words: readonly string[],
  options: Options,
): Promise<Ended> {
  return startProgram(process.execPath, [join(projectFolder, script), ...words], options).ended
}
