import { gatewayCommand } from '../core/words/remedies.ts'
import { flushCompileCache } from 'node:module'
import { commandLine, signalActor } from '../accounts/audit.ts'
import { printedElsewhereText, setUpText } from '../accounts/set-up-link.ts'
import { assemble, type Assembled, type AssembleOptions, type WorkerParts } from '../assemble.ts'
import {
  setFontConfiguration,
  siteAddress,
  type Loaded,
  type ReadSettings,
} from '../settings/config.ts'
import { fontConfigurationFile } from '../providers/sandbox/font-configuration.ts'
import { takeFolder } from './take-folder.ts'
import { listenFailure } from './start-failure.ts'
import { createStop, type Stop } from './stop.ts'
import type { Events } from '../telemetry/events.ts'
import { createLog, logConsole } from '../telemetry/log.ts'

export type ServeOptions = {
  settings: Loaded
  /** Reads all settings again. Throws a ConfigError. */
  readSettings: ReadSettings
  /** Set if this process is one of several workers that share the port. */
  worker?: WorkerParts & { id: number; portClosed: () => void }
  /** Handles signals. `reread` reloads the settings without writing the audit event. */
  obey: (parts: { stop: Stop; events: Events; reload: () => void; reread: () => void }) => void
  exit: (code: number) => void
  print: (text: string) => void
}

/** Serves requests until it is stopped, as the only process or as a worker. */
export async function serve(options: ServeOptions): Promise<void> {
  const { settings, worker, obey, exit, print } = options
  const { config, secrets } = settings
  setFontConfiguration(fontConfigurationFile)
  const log = createLog(config, worker && { worker: worker.id })
  logConsole(log)
  const { readSettings } = options
  const onWait = (text: string) => log.warn(text)
  // The primary holds the lock for its workers.
  const lock = worker ? undefined : await takeFolder(settings, onWait)
  const onPortClosed = () => (worker ? worker.portClosed() : lock?.release())
  const parts = { config, secrets, log, readSettings, worker, onPortClosed, ...collection() }
  const assembled = await assemble(parts)
  const { server, events, reload, reread, providerIds, close } = assembled
  const listening = server.listen(config.port, config.host, worker !== undefined)
  const port = await listening.catch((cause: unknown) => {
    throw listenFailure(cause, config)
  })
  const stop = createStop({
    events,
    drain: server.drain,
    close,
    log,
    drainTimeoutMs: config.limits.drainTimeoutMs,
    exit,
  })
  obey({
    stop,
    events,
    reload: () => {
      // `reload` has logged the failure.
      reload(signalActor).catch(() => undefined)
    },
    reread,
  })
  const baseUrl = siteAddress({ ...config, port })
  lock?.listensAt(baseUrl)
  if (worker?.isFirst !== false) await greet({ ...assembled, settings, baseUrl, print })
  events.started(baseUrl, providerIds)
  void assembled.modelWatch?.look()
  // Node writes the cache only when it exits, which a killed process does not.
  flushCompileCache()
}

type Greeting = Pick<Assembled, 'accounts' | 'keys' | 'people' | 'providerIds' | 'store'> & {
  settings: Loaded
  baseUrl: string
  print: ServeOptions['print']
}

/** Creates the first account, test key and setup link if they are missing, and prints the welcome text. */
async function greet(options: Greeting): Promise<void> {
  const { accounts, keys, people, providerIds, store, baseUrl, print } = options
  const { doubts } = options.settings
  const { id: accountId, created } = await store.starting(accounts.first)
  const first = { mode: 'test', name: 'first test key' } as const
  const made = created
    ? await store.starting(() => keys.create(commandLine, accountId, first))
    : undefined
  const link = await store.starting(people.setUpLinks.createIfNeeded)
  const setUp =
    link === 'made_elsewhere' ? printedElsewhereText : link && setUpText(baseUrl, link.token)
  print(welcome({ baseUrl, testKey: made?.key, setUp, providerIds, doubts }))
}

/** Garbage collection on demand, if Node runs with `--expose-gc` as the launcher does. */
function collection(): Pick<AssembleOptions, 'collector'> {
  const { gc } = globalThis
  if (gc === undefined) return {}
  return {
    collector: {
      collect: (cause) => {
        const flavor = cause === 'rest' ? 'last-resort' : 'regular'
        gc({ type: 'major', execution: 'sync', flavor })
      },
      memory: () => {
        const { rss, heapUsed, external } = process.memoryUsage()
        return { residentBytes: rss, allocatedBytes: heapUsed + external }
      },
    },
  }
}

type WelcomeOptions = {
  baseUrl: string
  /** Set only at the first start, since keys are stored as hashes. */
  testKey: string | undefined
  /** How to create an owner; undefined if one exists. */
  setUp: string | undefined
  providerIds: readonly string[]
  /** Warnings about the settings. */
  doubts: readonly string[]
}

/** The text printed after the start: addresses, warnings and a command to paste. */
function welcome({ baseUrl, testKey, setUp, ...rest }: WelcomeOptions): string {
  const { providerIds, doubts } = rest
  const providers =
    providerIds.length > 0
      ? `Providers: ${providerIds.join(', ')}`
      : 'Providers: none, so live keys cannot be used yet. Test keys use the sandbox.'
  return `
Model-Access Gateway is listening on ${baseUrl}
API reference: ${baseUrl}/docs
${[providers, ...doubts].join('\n')}

${testKey === undefined ? laterStart(baseUrl) : firstStart(baseUrl, testKey)}
${setUp === undefined ? '' : `\nThere is no owner yet. ${setUp}`}`
}

function laterStart(baseUrl: string): string {
  return `The dashboard is at ${baseUrl}/dashboard. Keys that you have created still work.
To create another: ${gatewayCommand} keys create --mode test --name mine`
}

function firstStart(baseUrl: string, testKey: string): string {
  const body = '{"prompt":"A lighthouse in a storm","size":"1024x1024","output_format":"png"}'
  return `Your test key, shown only once: ${testKey}

Paste this command to make your first picture, picture.png:

curl -s ${baseUrl}/v1/images/generations -H "Authorization: Bearer ${testKey}" -H "Content-Type: application/json" -d '${body}' | sed 's/.*"b64_json":"\\([^"]*\\)".*/\\1/' | base64 -d > picture.png
`
}
