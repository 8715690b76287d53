/** The server: `npm start`. */
import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import { commandLine } from './accounts/command-line.ts'
import { signalActor } from './accounts/signal-actor.ts'
import { setUpText } from './accounts/set-up-link.ts'
import { assemble } from './assemble.ts'
import {
  ConfigError,
  loadConfig,
  readVariables,
  setFontConfiguration,
  siteAddress,
  type Config,
  type Secrets,
} from './config.ts'
import { systemReason } from './core/system-reason.ts'
import { fontConfigurationFile } from './providers/sandbox/font-configuration.ts'
import { RedisRefusal } from './peers/redis-trouble.ts'
import { obeySignals } from './signals.ts'
import { serveFolder, type FolderLock } from './storage/folder-lock.ts'
import { makeFolder } from './storage/folder.ts'
import { StoreError } from './storage/store-error.ts'
import { createLog } from './telemetry/log.ts'
import { welcome } from './welcome.ts'

async function main(): Promise<void> {
  const { config, secrets, doubts } = readConfig()
  setFontConfiguration(fontConfigurationFile)
  const log = createLog(config.logLevel)
  const readSettings = () => loadConfig(readVariables())
  const lock = await serve(config, secrets, (text) => log.warn(text))
  const assembled = await assemble({
    config,
    secrets,
    log,
    readSettings,
    onPortClosed: () => lock?.release(),
    ...collection(),
  })
  const { server, accounts, keys, people, events, reload, providerIds, close } = assembled
  const port = await listen(server, config)
  obeySignals({
    events,
    reload: () => {
      // What goes wrong is logged.
      reload(signalActor).catch(() => undefined)
    },
    drain: server.drain,
    close,
    flush: () => new Promise((resolve) => log.flush(() => resolve())),
    drainTimeoutMs: config.limits.drainTimeoutMs,
    exit: (code) => process.exit(code),
  })
  const baseUrl = siteAddress({ ...config, port })
  const { id: accountId, created } = await accounts.first()
  const testKey = created
    ? (await keys.create(commandLine, accountId, { mode: 'test', name: 'first test key' })).key
    : undefined
  const setUpToken = await people.setUpLinks.createIfNeeded()
  const setUp = setUpToken === undefined ? undefined : setUpText(baseUrl, setUpToken)
  // Who started it need not read what it prints.
  process.stdout.on('error', () => undefined)
  process.stdout.write(welcome({ baseUrl, testKey, setUp, providerIds, doubts }))
  events.started(baseUrl, providerIds, assembled.retiring)
}

/** Takes the folder of the embedded store, which one gateway serves at a time. */
async function serve(
  { dataDir, limits }: Config,
  { databaseUrl }: Secrets,
  onWait: (text: string) => void,
): Promise<FolderLock | undefined> {
  if (databaseUrl !== undefined) return undefined
  makeFolder(dataDir)
  return serveFolder({ dataDir, waitMs: limits.dataDirWaitMs, onWait })
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

function readConfig(): ReturnType<typeof loadConfig> {
  try {
    return loadConfig(readVariables())
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`The settings are not right:\n${error.message.replaceAll(/^/gm, '  ')}\n`)
    process.exit(78)
  }
}

/** An error of the start whose message says it all. */
class StartError extends Error {
  override name = 'StartError'
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

await main().catch((error: Error) => {
  const isTold = [StartError, StoreError, RedisRefusal].some((kind) => error instanceof kind)
  const text = isTold ? error.message : (error.stack ?? error.message)
  process.stderr.write(`The gateway cannot start: ${text}\n`)
  process.exit(1)
})
