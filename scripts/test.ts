/**
 * `npm test` runs the specs that need no other process, and beside them the checks of types, lint, contract and
 * format, unless these passed with the same files; `npm run test:all` (`--all`) runs the other specs. The last lines name the specs that did not run, and
 * what failed.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { installCommand, pathOf } from './test-servers/programs.ts'

const root = join(import.meta.dirname, '..')
const staticImport = /^(?:import|export)\s(?!type\s)[^'"]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm
/** Modules that start programs: child processes and Chromium. */
const starters = ['node:child_process', 'playwright-core']
/** Scripts of package.json. */
const checks = ['typecheck', 'lint:code', 'lint:contract', 'lint:format']
/** The checks that passed, which are not repeated while no file changes. */
const passedFile = join(root, 'node_modules/.cache/checks.json')
/** Specs of one process that `npm run test:all` runs, and why. Another spec has the same promises in `npm test`. */
const large: Readonly<Record<string, string>> = {
  'test/connect/real-gateway.spec.ts':
    'connects all clients for each fault; connect/connect has a double',
  'test/pictures/large-input-pictures.spec.ts':
    'sends 50 MB often; pictures/input-images sends small ones',
  'test/v1/image-matrix.spec.ts':
    'paints with every model and option; v1/image-fields paints with some',
  'test/v1/pictures-of-4k.spec.ts':
    'shrinks pictures of 23 MB; v1/oversize-pictures shrinks one of 10 MB',
  'test/v1/vendor-floods.spec.ts':
    'floods the gateway from every vendor; providers/wire/chat-streams sends one event above the limit',
  'test/v1/prices-of-all-models.spec.ts':
    'paints with every model and quality; v1/prices has one of each kind',
}
/** The specs that take the longest start first, so that none runs alone at the end. */
const longest = [
  'test/attack/attack.spec.ts',
  'test/process/large-pictures.spec.ts',
  'test/deploy/package.spec.ts',
  'test/deploy/image.spec.ts',
  'test/deploy/compose-story.spec.ts',
  'test/process/kill.spec.ts',
  'test/pages/api-reference.spec.ts',
  'test/conformance/suite.spec.ts',
  'test/contract/operations.spec.ts',
  'test/contract/image-bounds.spec.ts',
  'test/connect/connect.spec.ts',
  'test/v1/vendor-secrets.spec.ts',
  'test/v1/store-trouble.spec.ts',
  'test/oauth/sign-in-flow.spec.ts',
]
const installTimeoutMs = 600_000
const eachStore = join(root, 'test/support/each-store.ts')

type Suites = { oneProcess: string[]; large: string[]; programs: string[]; eachStore: string[] }

/**
 * The specs by the programs that they need, as paths from the root: a spec that imports one of `starters`,
 * directly or not, starts programs; a spec that uses `forEachStore` has a part on PostgreSQL.
 */
export function readSuites(): Suites {
  const known = new Map<string, string[]>()
  const importsOf = (file: string): string[] => {
    const found = known.get(file) ?? namesIn(file)
    known.set(file, found)
    return found
  }
  const suites: Suites = { oneProcess: [], large: [], programs: [], eachStore: [] }
  for (const name of globSync('test/**/*.spec.ts', { cwd: root }).toSorted()) {
    const file = join(root, name)
    const modules = reached(file, importsOf)
    if (starters.some((name) => modules.has(name))) suites.programs.push(name)
    else if (name in large) suites.large.push(name)
    else {
      suites.oneProcess.push(name)
      if (importsOf(file).includes(eachStore)) suites.eachStore.push(name)
    }
  }
  return suites
}

function namesIn(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(staticImport)].map(([, from, alone]) => {
    const name = from ?? alone ?? ''
    return name.startsWith('.') ? join(dirname(file), name) : name
  })
}

/** All modules that a file imports through tests and scripts at any depth, with names of packages. */
function reached(file: string, importsOf: (file: string) => string[]): Set<string> {
  const seen = new Set<string>()
  const visit = (from: string): void => {
    for (const name of importsOf(from)) {
      if (seen.has(name)) continue
      seen.add(name)
      if (/^(?:test|scripts)\/.*\.ts$/.test(relative(root, name))) visit(name)
    }
  }
  visit(file)
  return seen
}

/** Installs missing programs if this user is root and has apt-get. Prints the command. */
function installPrograms(): void {
  const command = installCommand()
  if (command === undefined || process.getuid?.() !== 0 || pathOf('apt-get') === undefined) return
  process.stderr.write(`Installing programs for the tests: ${command} ...\n`)
  const names = command.split(' ').slice(2)
  if (aptGet(['update', '-qq']))
    aptGet(['install', '-y', '-qq', '--no-install-recommends', ...names])
}

function aptGet(words: readonly string[]): boolean {
  const { status, stdout, stderr } = spawnSync('apt-get', words, {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: installTimeoutMs,
    encoding: 'utf8',
  })
  if (status !== 0) process.stderr.write(`${stdout ?? ''}${stderr ?? ''}`)
  return status === 0
}

/** What npm test does not run. */
function leftOutOf({ eachStore, programs, large: largeNames }: Suites): string {
  const reasons = largeNames.map((name) => `  ${name}: ${large[name]}.\n`)
  return (
    `Not run here: the parts of ${eachStore.length} spec files on PostgreSQL, ${largeNames.length} large spec ` +
    `files, and ${programs.length} that start programs, servers or Chromium; npm run test:all runs them:\n` +
    `${reasons.join('')}${byFolder(programs)}`
  )
}

function byFolder(names: readonly string[]): string {
  const folders = Map.groupBy(names, (name) => dirname(name))
  const lines = [...folders].map(([folder, files]) => {
    const bare = files.map((name) => name.slice(folder.length + 1, -'.spec.ts'.length))
    return `  ${folder}: ${bare.join(', ')}`
  })
  return `${lines.join('\n')}\n`
}

async function runSpecs(specs: readonly string[], stores: 'postgres' | 'sqlite'): Promise<boolean> {
  // One more than cores, since a spec also waits for timers and threads, and two where it waits for programs.
  const jobs = availableParallelism() + (stores === 'postgres' ? 2 : 1)
  const first = longest.filter((name) => specs.includes(name))
  const ordered = new Set([...first, ...specs])
  const mocha = spawn('mocha', ['--jobs', String(jobs), ...ordered], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      TEST_STORES: stores,
      // Each gateway of a test starts a thread, whose modules are compiled once.
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node'),
    },
  })
  const [code] = await once(mocha, 'close')
  return code === 0
}

/**
 * Runs the scripts one after the other, since each uses all cores, without those that passed with the same
 * files. Returns those that failed.
 */
async function runChecks(scripts: readonly string[]): Promise<string[]> {
  const digest = digestOfFiles()
  const passed = new Set(passedWith(digest))
  const failed: string[] = []
  for (const script of scripts) {
    if (passed.has(script)) continue
    const check = spawn('npm', ['run', '-s', script], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [[code], ...outputs] = await Promise.all([
      once(check, 'close'),
      text(check.stdout),
      text(check.stderr),
    ])
    if (code === 0) {
      passed.add(script)
      continue
    }
    failed.push(script)
    process.stdout.write(`\n${outputs.join('')}\n"npm run ${script}" failed.\n`)
  }
  // A file may have changed meanwhile.
  if (digest !== undefined && digest === digestOfFiles()) {
    mkdirSync(dirname(passedFile), { recursive: true })
    writeFileSync(passedFile, JSON.stringify({ digest, passed: [...passed] }))
  }
  return failed
}

/** The checks that passed with the same files in an earlier run. */
function passedWith(digest: string | undefined): readonly string[] {
  if (digest === undefined || !existsSync(passedFile)) return []
  const kept = JSON.parse(readFileSync(passedFile, 'utf8')) as { digest: string; passed: string[] }
  return kept.digest === digest ? kept.passed : []
}

/** Of all files but ignored ones; undefined outside of a Git repository, where these are not known. */
function digestOfFiles(): string | undefined {
  const words = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { status, stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8' })
  if (status !== 0) return undefined
  const hash = createHash('sha256').update(process.version)
  for (const name of stdout.split('\0').filter((name) => existsSync(join(root, name)))) {
    if (name !== '') hash.update(`${name}\n`).update(readFileSync(join(root, name)))
  }
  return hash.digest('hex')
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { all: { type: 'boolean', default: false } } })
  const suites = readSuites()
  if (values.all) installPrograms()
  const [failed, isGreen] = await Promise.all([
    runChecks(values.all ? [] : checks),
    values.all
      ? runSpecs([...suites.programs, ...suites.large, ...suites.eachStore], 'postgres')
      : runSpecs(suites.oneProcess, 'sqlite'),
  ])
  const leftOut = values.all
    ? `Not run here: ${suites.oneProcess.length} spec files of one process; npm test runs them.\n`
    : leftOutOf(suites)
  // Failures are the last lines, since a cut log keeps those.
  if (isGreen) process.stdout.write(leftOut)
  else failed.push('tests')
  process.stdout.write(failed.length === 0 ? 'All passed.\n' : `FAILED: ${failed.join(', ')}.\n`)
  process.exitCode = failed.length === 0 ? 0 : 1
}
