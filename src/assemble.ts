import { Router } from '@koa/router'
import type { Accounts } from './accounts/accounts.ts'
import type { KeyWatch } from './accounts/key-watch.ts'
import type { Keys } from './accounts/keys.ts'
import { assembleAccounts } from './assemble/accounts.ts'
import { assembleAnswers } from './assemble/answers.ts'
import { loadFarCache } from './assemble/far-cache.ts'
import type { assembleFaces } from './assemble/faces.ts'
import type { Reload } from './api/settings.ts'
import { assemblePeers } from './assemble/peers.ts'
import { assemblePeople, type PeopleParts } from './assemble/people.ts'
import { workerShares } from './assemble/worker-shares.ts'
import { createBudget, type Budget } from './bytes/budget.ts'
import { collectAfter, type Collector } from './bytes/collection.ts'
import { workerCount, type Config, type Loaded, type Secrets } from './config.ts'
import { gatewayStopped } from './core/deadline.ts'
import { createLeftCalls } from './core/ending.ts'
import { GatewayError } from './core/error.ts'
import { pause, type FailoverPolicy } from './core/failover.ts'
import type { Tracing } from './core/trace.ts'
import { loadContract } from './http/contract-router.ts'
import { createCrossOrigin } from './http/cross-origin.ts'
import { errorAnswer, errorAnswersByPath } from './http/error-answer.ts'
import type { ExchangeState, OnRefused } from './http/exchange.ts'
import { createHttpServer, type GatewayServer } from './http/server.ts'
import type { ToolServer } from './mcp/index.ts'
import type { BoundTool } from './mcp/tool.ts'
import { crossOriginPaths, type OAuthServer } from './oauth/index.ts'
import { bindPages } from './pages/index.ts'
import type { PrimaryLine } from './peers/primary-line.ts'
import type { PublicNet } from './pictures/guarded-fetch.ts'
import { readGatewaySecret } from './storage/gateway-secret.ts'
import { guardStore, type GuardedStore } from './storage/store-guard.ts'
import { openStore } from './storage/open-store.ts'
import type { Store } from './storage/store.ts'
import { createEvents, type Events } from './telemetry/events.ts'
import type { Log } from './telemetry/log.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { readSum } from './telemetry/worker-metrics.ts'
import { startTracing } from './telemetry/tracing.ts'

type Assembled = {
  server: GatewayServer
  accounts: Accounts
  people: PeopleParts
  keys: Keys
  store: Store
  events: Events
  toolServer: ToolServer
  reload: Reload
  providerIds: readonly string[]
  /** Models that the settings name and that end, or are not there. */
  retiring: readonly string[]
  /** Closes what the server uses; to be called after it has drained. */
  close: () => Promise<void>
}

type Options = {
  config: Config
  secrets: Secrets
  log: Log
  /** Reads all settings again. Throws a ConfigError. */
  readSettings: () => Loaded
  /** Unix time in milliseconds: dates of the catalog, of keys, of rows. */
  clock?: () => number
  /** Milliseconds from any start that nobody sets: whatever lasts for a while is measured with it. */
  monotonic?: () => number
  sleep?: FailoverPolicy['sleep']
  random?: () => number
  /** How addresses that callers name are resolved, checked and reached; for tests. */
  publicNet?: PublicNet
  /** Tools beside those of mcp-tools.json. */
  moreTools?: readonly BoundTool[]
  /** Called when the port closes. */
  onPortClosed?: () => void
  /** Where this process is a worker of a primary. */
  worker?: { primary: PrimaryLine; isFirst: boolean; allListen: () => boolean } | undefined
  /** Collects garbage; thoroughly where nothing else is to do. */
  collector?: Collector | undefined
}

/** Whole milliseconds since the process began. */
const elapsed = () => Math.trunc(performance.now())

/** Builds each part once, in the order of their dependencies. */
export async function assemble({
  config,
  secrets,
  log,
  readSettings,
  clock = Date.now,
  monotonic = elapsed,
  sleep = pause,
  random = Math.random,
  publicNet = {},
  moreTools = [],
  onPortClosed = () => undefined,
  worker,
  collector,
}: Options): Promise<Assembled> {
  const { limits } = config
  const budget = budgetOf({ config, monotonic, collector })
  const metrics = createMetrics({ bufferedBytes: budget.bytes })
  const events = createEvents(log, metrics)
  const opened = await openAll({ config, secrets, log, monotonic, events, metrics, worker })
  const { peers, store, channel, tracing } = opened
  const leftCalls = createLeftCalls(events.left)
  const known = assembleAccounts({ store, config, channel, events, clock, monotonic })
  const people = assemblePeople({ ...opened, ...known, config, events, clock, monotonic, worker })
  const { contract, toolServer, oauth, current, keys, reload, ...answers } = assembleAnswers({
    ...opened,
    ...known,
    config,
    secrets,
    events,
    budget,
    people,
    publicNet,
    moreTools,
    leftCalls,
    clock,
    monotonic,
    sleep,
    random,
    readSettings,
    primary: worker?.primary,
    isDraining: () => server.draining(),
    setLogLevel: (level) => (log.level = level),
  })
  const { accounts, followKey } = known
  const carried = { limits, events, budget, tracing, followKey, onPortClosed, clock, monotonic }
  const onLate = () => leftCalls.endAll(gatewayStopped())
  const onRefused: OnRefused = (error, refused) => {
    const address = current().addressOf(refused.request)
    known.noteRefusal(error, { ...refused, address })
  }
  const server = serverOf({ contract, toolServer, oauth, onRefused, onLate, ...carried })
  bindPages(server.router, {
    readMetrics: createReading({ log, metrics, config, worker }),
    metricsToken: () => current().secrets.metricsToken,
    checkReady: readiness(server, store, worker),
  })

  const close = async () => {
    await known.close()
    await answers.close()
    await store.close()
    peers.close()
    await opened.closeTracing()
  }
  const { providerIds, retiring } = current()
  const rest = { toolServer, reload, providerIds, retiring, close }
  return { server, accounts, keys, people, store, events, ...rest }
}

type ReadingParts = Pick<Options, 'log' | 'config' | 'worker'> & { metrics: Metrics }

/** Reads the metrics: in a worker those of all, with what has still to be counted here. */
function createReading({ log, metrics, config, worker }: ReadingParts): Metrics['read'] {
  const settled: Pick<Metrics, 'read' | 'readObjects'> = {
    read: () => {
      log.settle()
      return metrics.read()
    },
    readObjects: () => {
      log.settle()
      return metrics.readObjects()
    },
  }
  if (worker === undefined) return settled.read
  const { primary } = worker
  return readSum({ metrics: settled, primary, count: workerCount(config) })
}

type Opened = Pick<Options, 'config' | 'secrets' | 'log' | 'worker'> & {
  monotonic: () => number
  events: Events
  metrics: Metrics
}

/** What has to be waited for, before anything is built with it. */
async function openAll({ config, secrets, log, worker, monotonic, events, metrics }: Opened) {
  const peers = await assemblePeers({ config, secrets, events, primary: worker?.primary })
  const examines = worker?.isFirst !== false
  // Both are slow and independent of each other.
  const opening = openStore({ ...config, examines }, secrets, events.storeNoticed)
  const [opened, loaded] = await Promise.all([opening, loadContract()])
  const store = await guardStore({ store: opened, config, monotonic, events })
  const secret = await store.starting(() => readGatewaySecret(store.db))
  const connectFarCache = await loadFarCache({ redis: peers.redis, line: worker?.primary })
  const { tracing, close: closeTracing } = await startTracing({
    config,
    secrets,
    log,
    metrics,
    events,
  })
  const { channel, replicas } = peers
  const stored = { store, loaded, secret, connectFarCache }
  return { peers, channel, replicas, ...stored, tracing, closeTracing }
}

type ServerParts = Pick<ReturnType<typeof assembleFaces>, 'contract' | 'toolServer'> & {
  oauth: Pick<OAuthServer, 'errorAnswer'>
  limits: Config['limits']
  events: Events
  budget: Budget
  tracing: Tracing | undefined
  followKey: KeyWatch['follow']
  onPortClosed: () => void
  onLate: () => void
  onRefused: OnRefused
  clock: () => number
  monotonic: () => number
}

/** The HTTP server of the contract, with a router for all else. */
function serverOf({ contract, toolServer, oauth, limits, events, budget, ...more }: ServerParts) {
  const { onPortClosed, ...rest } = more
  const router = new Router<ExchangeState>({ sensitive: true })
  const server = createHttpServer({
    ...rest,
    contract,
    router,
    limits,
    errorAnswerAt: errorAnswersByPath({
      rest: errorAnswer,
      'json-rpc': toolServer.errorAnswer,
      oauth: oauth.errorAnswer,
    }),
    onDrain: () => {
      toolServer.close()
      onPortClosed()
    },
    allowCrossOrigin: createCrossOrigin({
      '/v1/': () => '*',
      '/mcp': toolServer.allowedOrigin,
      ...Object.fromEntries(crossOriginPaths.map((path) => [path, () => '*'])),
    }),
    events,
    budget,
  })
  return { ...server, router }
}

type BudgetParts = Pick<Options, 'collector' | 'config'> & {
  monotonic: () => number
}

/** The bytes that all requests of this process together may hold. */
function budgetOf({ config, monotonic, collector }: BudgetParts): Budget {
  return createBudget({
    bytesMax: workerShares(config).bufferedBytesMax,
    graceMs: config.limits.slowPeerGraceMs,
    now: monotonic,
    ...(collector === undefined ? {} : { onGiven: collectAfter(collector) }),
  })
}

/** Throws `overloaded` before all workers listen, while the server drains and the store takes no rows. */
function readiness(
  server: GatewayServer,
  store: GuardedStore,
  worker: Options['worker'],
): () => Promise<void> {
  return async () => {
    if (server.draining()) throw new GatewayError('overloaded', 'The gateway is shutting down.')
    if (worker?.allListen() === false)
      throw new GatewayError('overloaded', 'The gateway starts: not all of its workers listen yet.')
    await store.checkWritable()
  }
}
