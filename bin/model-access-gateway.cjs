#!/usr/bin/env node
/**
 * Starts the gateway, or runs a command if there are arguments: `npx model-access-gateway keys list`. Replaces
 * this process by Node with the flags of docs/performance.md#start-flags. Must run on any version of Node,
 * since it reports a version that is too old.
 */
'use strict'

const { spawn, spawnSync } = require('child_process')
const { existsSync } = require('fs')
const { join } = require('path')
const { engines, version } = require('../package.json')

const root = join(__dirname, '..')
const leastMajor = majorOf(engines.node)
/** The versions with which the flags were measured. */
const measuredMajors = new Set([24, 26])
const flags = [
  '--disable-sigusr1',
  '--expose-gc',
  '--max-semi-space-size=32',
  '--heap-growing-percent=200',
  '--invocation-count-for-turbofan=500',
]
const variables = {
  NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node'),
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '1048576',
}

const env = { ...variables, ...process.env }

module.exports = { flags, variables }
if (require.main === module) main(process.argv.slice(2))

function main(words) {
  const node = findNode()
  if (node === undefined) {
    process.stderr.write(
      `The gateway needs Node ${leastMajor} or later; this is Node ${process.versions.node}. ` +
        '`npm ci` without --omit=optional brings one along on Linux; nodejs.org has the others.\n',
    )
    process.exit(1)
  }
  if (words[0] === '--version') return void process.stdout.write(`${version}\n`)
  if (words.length > 0) return run(node, [programFile('command-line'), ...words])
  // Only a checkout has this file; a package contains the dashboard.
  const build = join(root, 'scripts/dashboard.ts')
  if (existsSync(build)) spawnSync(node, [build], { stdio: 'inherit', env })
  run(node, [...knownFlags(node), programFile('main')])
}

/** This Node, or the one that npm installed with the gateway; undefined if there is none of the required version. */
function findNode() {
  if (majorOf(process.versions.node) >= leastMajor) return process.execPath
  try {
    return require.resolve(`node-${process.platform}-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}

/** The file of a program: the TypeScript of a checkout, or the JavaScript of a package. */
function programFile(name) {
  const source = join(root, `src/${name}.ts`)
  return existsSync(source) ? source : join(root, `dist/src/${name}.js`)
}

/** The flags that this version of Node knows; an unknown one would prevent the start. */
function knownFlags(node) {
  if (node !== process.execPath || measuredMajors.has(majorOf(process.versions.node))) return flags
  const { stdout } = spawnSync(node, ['--v8-options'], { encoding: 'utf8' })
  const ofV8 = new Set(stdout.match(/--[a-z\d-]+/g))
  return flags.filter((flag) => {
    const name = flag.replace(/=.*/, '')
    return ofV8.has(name) || process.allowedNodeEnvironmentFlags.has(name)
  })
}

/** Replaces this process, or where the platform cannot, waits for a child process and forwards its signals. */
function run(node, words) {
  if (process.execve !== undefined && process.platform !== 'win32')
    process.execve(node, [node, ...words], env)
  const child = spawn(node, words, { stdio: 'inherit', env })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // A terminal sends SIGINT to the child too.
  process.on('SIGINT', () => undefined)
  child.on('exit', (code) => process.exit(code === null ? 1 : code))
}

function majorOf(text) {
  return Number(/\d+/.exec(text)[0])
}
