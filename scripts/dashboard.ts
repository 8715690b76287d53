/**
 * Builds the dashboard where what it is made from has changed since: `npm start` and `npm test` begin
 * with it. Without Vite, which an installation for production leaves out, what is built already stays.
 */
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

const root = join(import.meta.dirname, '..')
const sources = ['dashboard/{index.html,*.ts,*.json,src/**/*}', 'generated/client-*.ts']
const packages = ['vite', 'preact', '@preact/signals', 'openapi-fetch']
const mark = join(root, 'dashboard/dist/built-from')
/** A folder that is there while a process builds. */
const lock = join(root, 'node_modules/.cache/dashboard.lock')
/** What is older was left by a process that died. */
const lockAgeMsMax = 60_000
const lockCheckMs = 100

if (import.meta.main) await buildDashboard()

/** Builds it where that is needed; of processes that ask at once, one does and the others wait. */
export async function buildDashboard(): Promise<void> {
  if (!isInstalled('vite') || isBuilt()) return
  mkdirSync(join(lock, '..'), { recursive: true })
  while (!takeLock()) await setTimeout(lockCheckMs)
  try {
    if (isBuilt()) return
    const digest = digestOfSources()
    const { build } = await import('vite')
    await build({ configFile: join(root, 'dashboard/vite.config.ts'), logLevel: 'warn' })
    writeFileSync(mark, digest)
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

function takeLock(): boolean {
  try {
    mkdirSync(lock)
    return true
  } catch {
    const madeMs = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (Date.now() - madeMs > lockAgeMsMax) rmSync(lock, { recursive: true, force: true })
    return false
  }
}

function isBuilt(): boolean {
  return existsSync(mark) && readFileSync(mark, 'utf8') === digestOfSources()
}

function isInstalled(name: string): boolean {
  return existsSync(join(root, 'node_modules', name, 'package.json'))
}

function digestOfSources(): string {
  const hash = createHash('sha256')
  for (const name of sources.flatMap((pattern) => globSync(pattern, { cwd: root })).toSorted()) {
    const path = join(root, name)
    // Folders are among what a pattern finds.
    if (/\.\w+$/.test(name)) hash.update(`${name}\n`).update(readFileSync(path))
  }
  for (const name of packages) {
    const { version } = JSON.parse(
      readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'),
    ) as { version: string }
    hash.update(`${name} ${version}\n`)
  }
  return hash.digest('hex')
}
