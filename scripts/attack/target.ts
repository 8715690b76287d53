import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { startOf } from '../bench/gateway.ts'
import { ownKey, ownProvider } from '../../test/support/own-endpoint.ts'
import { startProgram, type Program } from '../../test/support/program.ts'
import type { Doubles } from './doubles.ts'

/** A gateway in a child process, with the flags of `npm start`. */
export type Target = Pick<Program, 'processId' | 'ended' | 'kill'> &
  Keys & {
    url: string
    dataDir: string
    /** Runs a command of the gateway; returns its output. */
    command(...words: string[]): Promise<string>
    /** The text that the gateway has logged so far. */
    log(): string
    stop(): Promise<void>
  }

type Keys = {
  testKey: string
  liveKey: string
  /** An admin key of the first account, whose administrators are the operators. */
  operatorKey: string
}

export type TargetOptions = {
  /** The checkout whose gateway is started. */
  project: string
  folder: string
  doubles: Doubles
  /** A store with keys. The gateway gets a copy of this store. */
  prepared: Prepared
  /** The `limits` of gateway.yaml. */
  limits?: Record<string, number>
  /** The `routes` of gateway.yaml, which win over the catalog. */
  routes?: Record<string, readonly string[]>
  /** An existing store, used instead of a copy of the prepared one. */
  dataDir?: string
  /** The limit of open descriptors (`ulimit -n`). */
  openFilesMax?: number
  /** The longest time of a start. */
  startTimeoutMs?: number
  /** Called with the process before it has started. */
  onProcess?: (program: Pick<Program, 'killGroup' | 'ended'>) => void
}

/** A store with keys. */
export type Prepared = Keys & { dataDir: string }

type Place = Pick<TargetOptions, 'project'> & { folder: string; variables: Record<string, string> }

/** Makes the store that each gateway of a run starts with. */
export async function prepareStore({
  project,
  folder,
}: Pick<TargetOptions, 'project' | 'folder'>): Promise<Prepared> {
  const place = { project, folder, variables: { DATA_DIR: join(folder, 'prepared') } }
  const keyOf = (mode: string, ...more: string[]) =>
    runCommand(place, ['keys', 'create', '--name', 'attack', '--mode', mode, ...more])
  const testKey = await keyOf('test')
  const liveKey = await keyOf('live')
  const operatorKey = await keyOf('live', '--scopes', 'admin')
  return { testKey, liveKey, operatorKey, dataDir: place.variables.DATA_DIR }
}

/** Starts the gateway of a checkout, with a store of its own. */
export async function startTarget(options: TargetOptions): Promise<Target> {
  const { project, openFilesMax, prepared } = options
  const folder = mkdtempSync(join(options.folder, 'gateway-'))
  const { dataDir = join(folder, 'data') } = options
  if (options.dataDir === undefined) cpSync(prepared.dataDir, dataDir, { recursive: true })
  const { flags, variables: ofStart } = startOf(project)
  const variables = { ...ofStart, ...variablesFor(options, { folder, dataDir }) }
  const place = { project, folder, variables }
  const ulimit = openFilesMax === undefined ? '' : `ulimit -n ${openFilesMax} && `
  const server = [process.execPath, ...flags, join(project, 'src/main.ts')]
  const words = ['-c', `${ulimit}exec "$@"`, 'sh', ...server]
  const program = startProgram('/bin/sh', words, { ...place, isGroup: true })
  options.onProcess?.(program)
  const listening = /listening on (http:\/\/\S+)/
  const [, url = ''] = await program.printed(listening, options.startTimeoutMs)
  const { processId, ended, kill } = program
  return {
    processId,
    ended,
    kill,
    url,
    dataDir,
    testKey: prepared.testKey,
    liveKey: prepared.liveKey,
    operatorKey: prepared.operatorKey,
    command: (...words) => runCommand(place, words),
    log: program.stderr,
    stop: async () => {
      kill('SIGKILL')
      await ended
    },
  }
}

async function runCommand(place: Place, words: readonly string[]): Promise<string> {
  const script = join(place.project, 'src/command-line.ts')
  const run = startProgram(process.execPath, [script, ...words], place)
  const { code, stdout, stderr } = await run.ended
  if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
  return stdout.trim()
}

function variablesFor(
  { project, doubles, limits = {}, routes = {} }: TargetOptions,
  { folder, dataDir }: { folder: string; dataDir: string },
): Record<string, string> {
  const configFile = join(folder, 'gateway.yaml')
  const own = { ...ownProvider('own', doubles.own), fetches_images: false }
  const fetching = { ...ownProvider('fetching', doubles.own), fetches_images: true }
  const file = { providers: [own, fetching], routes, limits: supportedLimits(project, limits) }
  writeFileSync(configFile, stringify(file))
  return {
    ...doubles.variables,
    OWN_API_KEY: ownKey,
    CONFIG_FILE: configFile,
    DATA_DIR: dataDir,
    LOG_LEVEL: 'error',
    PORT: '0',
  }
}

type SettingsDocument = { properties: { limits: { properties: Record<string, unknown> } } }

/** Removes limits that the checkout's settings.yaml lacks, because the checkout is an older version. */
function supportedLimits(project: string, limits: Record<string, number>): Record<string, number> {
  const text = readFileSync(join(project, 'settings.yaml'), 'utf8')
  const { properties } = (parse(text) as SettingsDocument).properties.limits
  return Object.fromEntries(Object.entries(limits).filter(([name]) => name in properties))
}
