import { Router } from '@koa/router'
import { assembleCalls } from './assemble/calls.ts'
import { assembleFaces, type Built, type Faces } from './assemble/faces.ts'
import { createGeneration, type Generation } from './assemble/generation.ts'
import { assemblePeople } from './assemble/people.ts'
import { assembleStored } from './assemble/stored-settings.ts'
import { createGenerations, createNote, createReload } from './assemble/reload.ts'
import {
  assembleStore,
  openPeers,
  openStoreWithSecret,
  type Environment,
} from './assemble/store.ts'
import { watchModels } from './assemble/watch-models.ts'
import { createMemoryBudget, type MemoryBudget } from './bytes/memory-budget.ts'
import { collectNear, type Collector } from './bytes/collection.ts'
import { workerCount, type Config, type ReadSettings, type Secrets } from './settings/config.ts'
import { GatewayStopped } from './core/resilience/deadline.ts'
import { GatewayError } from './core/error.ts'
import { pause, type FailoverPolicy } from './core/resilience/failover.ts'
import { loadContract } from './http/contract-router.ts'
import { createPublicOrigin } from './http/public-origin.ts'
import { createCrossOrigin } from './http/cross-origin.ts'
import { errorAnswersByPath } from './http/error-answer.ts'
import type { ExchangeState } from './http/exchange.ts'
import { createHttpServer, type GatewayServer } from './http/server.ts'
import type { BoundTool } from './mcp/tool.ts'
import { crossOriginPaths } from './oauth/index.ts'
import { bindPages } from './pages/index.ts'
import type { PublicNet } from './pictures/guarded-fetch.ts'
import type { GuardedStore } from './storage/store-guard.ts'
import { createEvents } from './telemetry/events.ts'
import type { Log } from './telemetry/log.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { startTracing } from './telemetry/tracing.ts'
import { sendsVersion } from './v1/messages/models.ts'

export type Assembled = Awaited<ReturnType<typeof assemble>>

export type AssembleOptions = {
  config: Config
  secrets: Secrets
  log: Log
  /** Reads all settings again. Throws a ConfigError. */
  readSettings: ReadSettings
  /** Unix time in milliseconds, for the dates of the catalog, of keys and of rows. */
  clock?: () => number
  /** Milliseconds of a monotonic clock with an arbitrary start, for durations. */
  monotonic?: () => number
  sleep?: FailoverPolicy['sleep']
  random?: () => number
  /** Resolves, checks and connects to URLs from callers; replaced in tests. */
  publicNet?: PublicNet
  /** Tools in addition to the tools of mcp-tools.json. */
  moreTools?: readonly BoundTool[]
  onPortClosed?: () => void
  worker?: WorkerParts | undefined
  /** Forces garbage collections; absent where Node does not expose them. */
  collector?: Collector | undefined
}

/** Options of a worker, one of several processes that share the port. */
export type WorkerParts = {
  /** Whether this is the first worker, which does the tasks that must run once, and prints their output. */
  isFirst: boolean
  /** Whether all workers listen, so that the gateway is ready. */
  allListen: () => boolean
  /** Reads the metrics of all workers as one page. */
  sumMetrics: (own: Pick<Metrics, 'contentType' | 'readObjects'>) => Metrics['read']
}

/** Whole milliseconds since the process began. */
const elapsed = () => Math.trunc(performance.now())

/** Builds each part once, in the order of their dependencies. */
export async function assemble(options: AssembleOptions) {
  const { config, log, moreTools = [], worker } = options
  const { environment, metrics, opened, contract, following } = await open(options)
  const { events, peers, clock } = environment
  const store = assembleStore(environment, opened)
  const generations = createGenerations(config)
  const { current } = generations
  const calls = await assembleCalls(environment, store, generations)
  const people = assemblePeople(environment, store, calls.counts)
  const build = (settings: Pick<Environment, 'config' | 'secrets'>): Generation =>
    createGeneration({ ...settings, environment, store, calls, moreTools, faces })
  const stored = assembleStored(environment, store, options.readSettings)
  const { reload, reread, apply } = createReload({
    readSettings: stored.readSettings,
    current,
    build,
    begin: (next, { providerIds, concernsModels }) => {
      generations.begin(next)
      for (const id of providerIds) calls.health.forget(id)
      log.level = next.config.logLevel
      if (concernsModels) faces.toolServer.announceToolsChanged()
      void modelWatch?.look()
    },
    isDraining: () => server.draining(),
    note: createNote(store),
    channel: peers.channel,
    events,
    clock,
  })
  const { tracing } = following
  const parts = { environment, store, people, calls, stored, current, reload, apply, tracing }
  const faces = assembleFaces(contract, parts)
  const read = () => stored.readSettings({ ...options, doubts: [] })
  generations.begin(build(await store.store.starting(read)))
  stored.watch(reread)
  const modelWatch = worker?.isFirst === false ? null : watchModels(environment, store, current)
  const server = serverOf(parts, faces, options.onPortClosed ?? (() => undefined))
  const openCircuits = () => openCircuitsOf(parts)
  bindPages(server.router, {
    readMetrics: worker === undefined ? metrics.read : worker.sumMetrics(metrics),
    metricsToken: () => current().secrets.metricsToken,
    checkReady: readiness(server, store.store, worker),
    openCircuits,
    publicOrigin: createPublicOrigin(config.baseUrl),
  })
  metrics.observe({ server, calls, config, openCircuits, store: store.store })
  return {
    server,
    accounts: store.accounts,
    people,
    keys: faces.keys,
    store: store.store,
    events,
    toolServer: faces.toolServer,
    reload,
    reread,
    modelWatch,
    providerIds: current().providerIds,
    close: async () => {
      for (const one of [stored, modelWatch]) one?.close()
      await store.closeRecords()
      await generations.close()
      await faces.close()
      await calls.close()
      await store.store.close()
      peers.close()
      await following.close()
    },
  }
}

/** Opens the resources that need asynchronous work, before the parts are built. */
async function open(options: AssembleOptions) {
  const { config, secrets, log, worker, publicNet = {} } = options
  const { clock = Date.now, monotonic = elapsed, sleep = pause, random = Math.random } = options
  const onGarbage = (bytes: number) => collectIfNear?.(bytes)
  const memoryBudget = memoryBudgetOf({ config, now: monotonic, onGarbage })
  const metrics = createMetrics({ bufferedBytes: memoryBudget.bytes, settle: log.settle })
  const collectIfNear = collectionOf(options, metrics)
  const events = createEvents(log, metrics)
  const peers = await openPeers({ config, secrets, events })
  const examines = worker?.isFirst !== false
  // Opening the store and loading the contract are slow and independent, so they run concurrently.
  const [opened, contract] = await Promise.all([
    openStoreWithSecret({ config, secrets, events, monotonic, examines }),
    loadContract(),
  ])
  const following = await startTracing({ config, secrets, metrics, events })
  const parts = { config, secrets, events, peers, memoryBudget, publicNet }
  const environment = { ...parts, clock, monotonic, sleep, random }
  return { environment, metrics, opened, contract, following }
}

/** The HTTP server of the contract, with a router for all other paths. */
function serverOf(parts: Built, faces: Faces, onPortClosed: () => void) {
  const { environment, store, calls, current, tracing } = parts
  const { config, events, memoryBudget, clock, monotonic } = environment
  const { contract, streams, toolServer, oauth } = faces
  const router = new Router<ExchangeState>({ sensitive: true })
  const server = createHttpServer({
    contract,
    router,
    limits: config.limits,
    errorAnswerAt: errorAnswersByPath(
      { 'json-rpc': toolServer.errorAnswer, oauth: oauth.errorAnswer },
      sendsVersion,
    ),
    onRefused: (error, refused) => {
      const address = current().addressOf(refused.request)
      store.noteRefusal(error, { ...refused, address })
    },
    onDrain: () => {
      toolServer.close()
      onPortClosed()
    },
    onLate: () => calls.endLeft(new GatewayStopped()),
    allowCrossOrigin: createCrossOrigin({
      '/v1/': () => '*',
      '/mcp': toolServer.allowedOrigin,
      ...Object.fromEntries(crossOriginPaths.map((path) => [path, () => '*'])),
    }),
    followKey: store.followKey,
    streams,
    tracing,
    events,
    memoryBudget,
    clock,
    monotonic,
  })
  return { ...server, router }
}

/** For each provider, the number of upstream models whose circuit is not closed. */
function openCircuitsOf({ current, calls }: Pick<Built, 'current' | 'calls'>) {
  return new Map(current().providerIds.map((id) => [id, calls.health.troubled(id).length]))
}

type MemoryBudgetParts = { config: Config; now: () => number; onGarbage: (bytes: number) => void }

/** The memory for all requests of this process together; workers share the machine's memory equally. */
function memoryBudgetOf({ config, ...rest }: MemoryBudgetParts): MemoryBudget {
  const { bufferedBytesMax, requestBytesMax, slowPeerGraceMs, pictureBytesMax } = config.limits
  const shareOf = (bytes: number) => Math.floor(bytes / workerCount(config))
  return createMemoryBudget({
    // Each worker can hold at least two requests of the largest size.
    bytesMax: Math.max(shareOf(bufferedBytesMax), Math.min(bufferedBytesMax, 2 * requestBytesMax)),
    pictureBytesMax: shareOf(pictureBytesMax),
    graceMs: slowPeerGraceMs,
    ...rest,
  })
}

/** Resident memory of a process under steady load, without the buffers of its requests. */
const ownBytes = 256 * 1024 * 1024

function collectionOf(
  { collector, config }: Pick<AssembleOptions, 'collector' | 'config'>,
  { collections }: Pick<Metrics, 'collections'>,
): ((bytes: number) => void) | undefined {
  if (collector === undefined) return undefined
  const collect: Collector['collect'] = (cause) => {
    collections.inc({ cause })
    collector.collect(cause)
  }
  const residentBytesMax = ownBytes + config.limits.bufferedBytesMax
  return collectNear({ ...collector, collect }, { residentBytesMax })
}

/** Throws `overloaded` before all workers listen, while the server drains, or while the store fails. */
function readiness(
  server: GatewayServer,
  store: GuardedStore,
  worker: AssembleOptions['worker'],
): () => Promise<void> {
  return async () => {
    if (server.draining()) throw new GatewayError('overloaded', 'The gateway is shutting down.')
    if (worker?.allListen() === false)
      throw new GatewayError('overloaded', 'The gateway is starting: not all workers listen yet.')
    await store.checkWritable()
  }
}
