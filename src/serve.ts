import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import { commandLine, signalActor } from './accounts/audit.ts'
import { printedElsewhereText, setUpText } from './accounts/set-up-link.ts'
import { assemble } from './assemble.ts'
import { setFontConfiguration, siteAddress, type Loaded } from './config.ts'
import { systemReason } from './core/words/system-reason.ts'
import type { PrimaryLine } from './peers/primary-line.ts'
import { fontConfigurationFile } from './providers/sandbox/font-configuration.ts'
import { takeFolder } from './take-folder.ts'
import { StartError } from './start-failure.ts'
import { createStop, type Stop } from './stop.ts'
import type { Events } from './telemetry/events.ts'
import { createLog } from './telemetry/log.ts'
import { welcome } from './welcome.ts'
import { topics } from './workers/start.ts'

type Options = {
  settings: Loaded
  /** Reads all settings again. Throws a ConfigError. */
  readSettings: () => Loaded
  /** In a worker. */
  worker?: {
    id: number
    primary: PrimaryLine
    /** The first of them makes what is made once, and tells of it. */
    isFirst: boolean
    /** Whether the gateway is ready: all workers have listened. */
    allListen: () => boolean
  }
  /** Sees to it that the process ends when it has to. */
  obey: (parts: { stop: Stop; events: Events; reload: () => void }) => void
  exit: (code: number) => void
  print: (text: string) => void
}

/** Answers on the port until it is stopped: the whole gateway, or a worker of it. */
export async function serve(options: Options): Promise<void> {
  const { settings, worker, obey, exit, print } = options
  const { config, secrets } = settings
  setFontConfiguration(fontConfigurationFile)
  const log = createLog(config.logLevel, worker && { worker: worker.id })
  const { readSettings } = options
  const onWait = (text: string) => log.warn(text)
  // The primary has it for its workers.
  const lock = worker ? undefined : await takeFolder(settings, onWait)
  const onPortClosed = () =>
    worker ? worker.primary.tell(topics.portClosed, null) : lock?.release()
  const parts = { config, secrets, log, readSettings, worker, onPortClosed, ...collection() }
  const assembled = await assemble(parts)
  const { server, events, reload, providerIds, close } = assembled
  const port = await listen(server, config)
  const stop = createStop({
    events,
    drain: server.drain,
    close,
    flush: () => new Promise((resolve) => log.flush(() => resolve())),
    drainTimeoutMs: config.limits.drainTimeoutMs,
    exit,
  })
  obey({
    stop,
    events,
    reload: () => {
      // What goes wrong is logged.
      reload(signalActor).catch(() => undefined)
    },
  })
  const baseUrl = siteAddress({ ...config, port })
  lock?.listensAt(baseUrl)
  if (worker?.isFirst !== false) await greet({ ...assembled, settings, baseUrl, print })
  events.started(baseUrl, providerIds, assembled.retiring)
}

type Greeting = Pick<
  Awaited<ReturnType<typeof assemble>>,
  'accounts' | 'keys' | 'people' | 'providerIds' | 'store'
> & { settings: Loaded; baseUrl: string; print: Options['print'] }

/** Makes what the first start makes, and prints where the gateway is. */
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

/** What `npm start` exposes to collect garbage; without that flag V8 does as it likes. */
function collection(): Pick<Parameters<typeof assemble>[0], 'collector'> {
  const { gc } = globalThis
  if (gc === undefined) return {}
  return {
    collector: {
      collect: (isIdle) => {
        gc({ type: 'major', execution: 'sync', flavor: isIdle ? 'last-resort' : 'regular' })
      },
      onCollected: (listener) => {
        const observer = new PerformanceObserver((seen) => {
          if (seen.getEntries().some(isMajor)) listener()
        })
        observer.observe({ entryTypes: ['gc'] })
      },
    },
  }
}

function isMajor(entry: PerformanceEntry & { detail?: { kind?: number } }): boolean {
  return entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}

async function listen(
  server: { listen(port: number, host: string): Promise<number> },
  { port, host }: { port: number; host: string },
): Promise<number> {
  try {
    return await server.listen(port, host)
  } catch (cause) {
    // Errors of the system have a code.
    if ((cause as { code?: string }).code === 'EADDRINUSE') {
      const text = 'The address is in use already. Set PORT to another one.'
      throw new StartError(text, { cause })
    }
    const text = `It cannot listen on ${host}, port ${port}: ${systemReason(cause)}. Set HOST or PORT otherwise.`
    throw new StartError(text, { cause })
  }
}
