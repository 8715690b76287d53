import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { startFlags } from '../bench/gateway.ts'
import { ownKey, ownProvider } from '../../test/support/own-endpoint.ts'
import { startProgram, type Program } from '../../test/support/program.ts'
import type { Upstream } from '../../test/support/upstream.ts'

/** A gateway in a process of its own, as `npm start` starts it. */
export type Target = Pick<Program, 'processId' | 'ended' | 'kill'> & {
  url: string
  testKey: string
  liveKey: string
  /** Makes a further key, with the words of `keys create`. */
  createKey(...words: string[]): Promise<string>
  /** Runs another command of the gateway's; gives what it prints. */
  command(...words: string[]): Promise<string>
  /** All that it logged so far. */
  log(): string
  stop(): Promise<void>
}

type Options = {
  project: string
  folder: string
  /** A server of the operator's own, whose models are `own/<model>`. */
  upstream?: Pick<Upstream, 'url'>
  /** Lead to the vendors. */
  variables?: Record<string, string>
  /** Settings of gateway.yaml below `limits`. */
  limits?: Record<string, number>
  logLevel?: string
  /** How many descriptors the process may have. */
  openFilesMax?: number
  port?: number
}

/** Starts the gateway of a checkout, with a store of its own in `folder`. */
export async function startTarget(options: Options): Promise<Target> {
  const { project, openFilesMax, port = 0 } = options
  const folder = mkdtempSync(join(options.folder, 'gateway-'))
  const variables = { ...variablesFor(options, folder), PORT: String(port) }
  const ulimit = openFilesMax === undefined ? '' : `ulimit -n ${openFilesMax} && `
  const server = [process.execPath, ...startFlags, join(project, 'src/main.ts')]
  const program = startProgram('/bin/sh', ['-c', `${ulimit}exec "$@"`, 'sh', ...server], {
    folder,
    variables,
  })
  const [, url = ''] = await program.printed(/listening on (http:\/\/\S+)/)
  const command = async (...words: string[]): Promise<string> => {
    const script = join(project, 'src/command-line.ts')
    const run = startProgram(process.execPath, [script, ...words], { folder, variables })
    const { code, stdout, stderr } = await run.ended
    if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
    return stdout.trim()
  }
  const createKey = (...words: string[]) => command('keys', 'create', '--name', 'attack', ...words)
  return {
    processId: program.processId,
    ended: program.ended,
    kill: program.kill,
    url,
    testKey: /mag_test_[\w-]+/.exec(program.stdout())![0],
    liveKey: await createKey('--mode', 'live'),
    createKey,
    command,
    log: program.stderr,
    stop: async () => {
      program.kill('SIGTERM')
      const limit = setTimeout(() => program.kill('SIGKILL'), stopTimeoutMs)
      await program.ended
      clearTimeout(limit)
    },
  }
}

const stopTimeoutMs = 10_000

function variablesFor(
  { project, upstream, variables, limits = {}, logLevel = 'error' }: Options,
  folder: string,
): Record<string, string> {
  const configFile = join(folder, 'gateway.yaml')
  const providers = upstream === undefined ? [] : [ownProvider('own', upstream)]
  writeFileSync(configFile, stringify({ providers, limits: knownTo(project, limits) }))
  return {
    ...variables,
    OWN_API_KEY: ownKey,
    CONFIG_FILE: configFile,
    DATA_DIR: join(folder, 'data'),
    LOG_LEVEL: logLevel,
  }
}

type SettingsDocument = { properties: { limits: { properties: Record<string, unknown> } } }

/** The limits that the settings of a checkout have: an older one is attacked without the newer. */
function knownTo(project: string, limits: Record<string, number>): Record<string, number> {
  const text = readFileSync(join(project, 'settings.yaml'), 'utf8')
  const { properties } = (parse(text) as SettingsDocument).properties.limits
  return Object.fromEntries(Object.entries(limits).filter(([name]) => name in properties))
}
