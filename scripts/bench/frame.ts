import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childProcesses, type Children } from './children.ts'

/** The folder and child processes of a measuring script. */
export type Frame = {
  /** Removed when the script ends. */
  folder: string
  /** Killed when the script ends. */
  children: Children
  /** Prints the problem and exits with 1. */
  fail: (problem: unknown) => never
}

/** Makes a folder and child processes that are removed and killed when the script ends for any reason. */
export function openFrame(name: string): Frame {
  const fail = (problem: unknown): never => {
    console.error(problem instanceof Error ? problem.stack : problem)
    process.exit(1)
  }
  const folder = mkdtempSync(join(tmpdir(), `gateway-${name}-`))
  const children = childProcesses({ onDeath: fail })
  process.once('exit', () => {
    children.killAll()
    rmSync(folder, { recursive: true, force: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(1))
  }
  return { folder, children, fail }
}
