/**
 * `npm run build`: builds the dashboard if its sources changed since the last build; `npm start` and `npm test`
 * run it first. Without Vite, which production does not install, it keeps the existing build and prints a
 * warning if that is outdated or missing.
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
const sources = [
  'dashboard/{index.html,*.ts,*.json,src/**/*}',
  'third-party/figtree/*',
  'generated/client-values.ts',
]
const packages = ['vite', 'preact', '@preact/signals', 'openapi-fetch', 'yaml', 'marked']
const mark = join(root, 'dashboard/dist/built-from')
/** A folder that exists while a process builds. */
const lock = join(root, 'node_modules/.cache/dashboard.lock')
/** An older lock was left by a process that died. */
const lockAgeMsMax = 60_000
const lockCheckMs = 100

if (import.meta.main) {
  const outcome = await buildDashboard()
  if (outcome !== undefined) process.stderr.write(`${outcome}\n`)
}

/**
 * Builds the dashboard if needed; of concurrent processes one builds and the others wait. Returns a
 * sentence about what it did or what the user has to do.
 */
export async function buildDashboard(): Promise<string | undefined> {
  if (isBuilt()) return undefined
  if (!isInstalled('vite')) return withoutVite()
  const startedAt = performance.now()
  mkdirSync(join(lock, '..'), { recursive: true })
  while (!takeLock()) await setTimeout(lockCheckMs)
  try {
    if (isBuilt()) return undefined
    const digest = digestOfSources()
    const { build } = await import('vite')
    await build({ configFile: join(root, 'dashboard/vite.config.ts'), logLevel: 'warn' })
    writeFileSync(mark, digest)
    return `The dashboard was built in ${seconds(performance.now() - startedAt)} s.`
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

function withoutVite(): string {
  const state = existsSync(mark)
    ? 'is of another version than the gateway'
    : 'is not built, and all else works without it'
  return (
    `The dashboard ${state}: its build needs the packages of development. Run \`npm ci && npm run build\`, ` +
    'then `npm prune --omit=dev` to remove them again.'
  )
}

function seconds(durationMs: number): string {
  return (durationMs / 1000).toFixed(1)
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
    // Patterns also match folders.
    if (/\.\w+$/.test(name)) hash.update(`${name}\n`).update(readFileSync(path))
  }
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>
  }
  for (const name of packages) {
    hash.update(`${name} ${lock.packages[`node_modules/${name}`]!.version}\n`)
  }
  return hash.digest('hex')
}
