import { execFile } from 'node:child_process'
import {
  copyFileSync,
  globSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolder } from '../support/folder.ts'
import type { TestGateway } from '../support/gateway.ts'
import { callNames, contract, type CallName, type Client } from './clients.ts'

/** The errors of each step; '' for a successful step, null for a step that was not tried. */
export type Trial = {
  version: string
  /** The lines of the generated client, without blank ones. */
  lines: number
  /** How often the generated client has the types `any` and `unknown`. */
  untyped: string
  generated: string
  compiled: string | null
  calls: Partial<Record<CallName, string | null>>
}

const commandTimeoutMs = 120_000
const root = join(import.meta.dirname, '../..')
const compilerOptions = {
  strict: true,
  target: 'es2023',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: [],
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
}

/** Generates a client in its own folder, compiles the client with its program, and makes the calls. */
export async function tryClient(
  client: Client,
  gateway: Pick<TestGateway, 'url' | 'testKey'>,
  modules: string,
): Promise<Trial> {
  const { path, remove } = makeFolder()
  try {
    prepare(path, client, modules)
    const trial: Trial = {
      version: versionOf(client, modules),
      lines: 0,
      untyped: '',
      generated: '',
      compiled: null,
      calls: {},
    }
    for (const [binary = '', ...words] of client.commands) {
      trial.generated = await run(path, join(modules, '.bin', binary), words).then(
        () => '',
        (error: unknown) => String(error),
      )
      if (trial.generated !== '') return trial
    }
    Object.assign(trial, outputOf(join(path, 'client')))
    trial.compiled = await run(path, join(root, 'node_modules/.bin/tsc'), [
      '--pretty',
      'false',
    ]).then(
      () => '',
      (error: unknown) => String(error),
    )
    if (trial.compiled === '') trial.calls = await callsOf(path, client, gateway)
    return trial
  } finally {
    remove()
  }
}

function prepare(path: string, { name, files = {} }: Client, modules: string): void {
  symlinkSync(modules, join(path, 'node_modules'))
  copyFileSync(fileURLToPath(contract), join(path, 'openapi.yaml'))
  copyFileSync(join(import.meta.dirname, 'programs', `${name}.ts`), join(path, 'program.ts'))
  mkdirSync(join(path, 'client'))
  const all = {
    ...files,
    'package.json': '{"type":"module"}',
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['**/*.ts'] }),
  }
  for (const [file, text] of Object.entries(all)) {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    writeFileSync(join(path, file), text)
  }
}

function outputOf(folder: string): Pick<Trial, 'lines' | 'untyped'> {
  const text = globSync('**/*.ts', { cwd: folder })
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')
  // Comments may have these words too.
  const code = text.replace(/\/\*[^]*?\*\/|\/\/ .*/g, '')
  const count = (type: string) => code.match(new RegExp(`\\b${type}\\b`, 'g'))?.length ?? 0
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return { lines: lines.length, untyped: `${count('any')}/${count('unknown')}` }
}

function versionOf(client: Client, modules: string): string {
  const text = readFileSync(join(modules, client.package, 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** Runs a script of an npm package with this Node; resolves with its output. */
export function run(folder: string, script: string, words: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, timeout: commandTimeoutMs, maxBuffer: 64 * 1024 * 1024 }
    execFile(process.execPath, [script, ...words], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      return reject(new Error(`${error.message.split('\n', 1)[0]}\n${stdout}${stderr}`))
    })
  })
}

type Given = Record<string, { value?: unknown; error?: string }>

async function callsOf(
  path: string,
  { cannot = {} }: Client,
  { url, testKey }: Pick<TestGateway, 'url' | 'testKey'>,
): Promise<Trial['calls']> {
  const script = join(import.meta.dirname, 'run-program.ts')
  const given = await run(path, script, [path, url, testKey]).then(
    (text) => JSON.parse(text) as Given,
    (error: unknown): Given =>
      Object.fromEntries(callNames.map((name) => [name, { error: String(error) }])),
  )
  const found = callNames.map((name) => {
    if (name in cannot) return [name, null]
    const { value, error } = given[name] ?? { error: 'The program does not make this call.' }
    return [name, error ?? complaints[name](value)]
  })
  return Object.fromEntries(found) as Trial['calls']
}

const picture = (value: unknown) =>
  typeof value === 'string' && Buffer.from(value, 'base64').length > 1000
    ? ''
    : `Not a picture: ${shown(value)}`
const text = (pattern: RegExp) => (value: unknown) =>
  typeof value === 'string' && pattern.test(value)
    ? ''
    : `Does not match ${pattern}: ${shown(value)}`

/** Checks the result of each call; returns '' when the result is correct. */
const complaints: Record<CallName, (value: unknown) => string> = {
  models: (value) =>
    Array.isArray(value) && value.length === 2 ? '' : `No models: ${shown(value)}`,
  image: picture,
  chat: text(/Hello/),
  refusal: text(/^invalid_value$/),
  edit: picture,
  form: picture,
  stream: text(/"delta":[^]*data: \[DONE\]/),
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 300)
}
