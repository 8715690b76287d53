import { createActivities } from '../accounts/activity.ts'
import { createConnectionLists } from '../accounts/connection-lists.ts'
import { createKeys, type Keys } from '../accounts/keys.ts'
import { createUsageExports } from '../accounts/usage/export.ts'
import { createRecentAttempts } from '../accounts/usage/recent-attempts.ts'
import { reconcile } from '../accounts/usage/reconcile.ts'
import { createUsageReports } from '../accounts/usage/report.ts'
import { createLatencies } from '../accounts/usage/latency.ts'
import { createRequestErrors } from '../accounts/usage/request-errors.ts'
import { createRequests } from '../accounts/usage/requests.ts'
import { apiOperations, type ApiOperations } from '../api/index.ts'
import type { DescribeCatalog, DescribeProviders, Reload, Reloaded } from '../api/settings.ts'
import { keyModelIds } from '../catalog/new-key-models.ts'
import { describeCatalog } from '../catalog/overview.ts'
import { createPriceOf } from '../catalog/route-price.ts'
import { isPerson } from '../core/caller.ts'
import type { ClaimKey } from '../core/repeats/idempotency.ts'
import type { CountRefused } from '../core/limits.ts'
import type { Tracing } from '../core/trace.ts'
import { type ActFor, createSecurity } from '../http/security.ts'
import { createContractRouter, type LoadedContract } from '../http/contract-router.ts'
import { createResponseStreams } from '../http/response-stream.ts'
import { createToolServer, type OtherProcesses, type ToolServer } from '../mcp/index.ts'
import { sessionKeyBytes } from '../mcp/sessions.ts'
import { announcedTextMax } from '../peers/announcement.ts'
import type { Channel } from '../peers/channel.ts'
import { refusedCounter } from '../policy/rate-limit.ts'
import { createRouteOrder } from '../policy/route-order.ts'
import { costForms, namePrefixes as prefixes, vendorOf } from '../providers/index.ts'
import { describeProviders } from '../providers/overview.ts'
import { v1Forms } from '../v1/index.ts'
import type { Calls } from './calls.ts'
import type { Generation } from './generation.ts'
import { assembleOAuth } from './oauth.ts'
import type { People } from './people.ts'
import { createStoredActs, type StoredSources } from './stored-settings.ts'
import type { Environment, StoreParts } from './store.ts'

/** The APIs of the contract; they use the current generation of the settings. */
export type Faces = ReturnType<typeof assembleFaces>

/** The dependencies of the APIs. */
export type Built = {
  environment: Environment
  store: StoreParts
  people: People
  calls: Calls
  stored: StoredSources
  current: () => Generation
  reload: Reload
  /** Reloads the settings after a change that is in the audit log. */
  apply: () => Promise<Reloaded>
  tracing: Tracing | undefined
}

export function assembleFaces(contract: LoadedContract, parts: Built) {
  const { environment, store, people, calls, current } = parts
  const { config, monotonic } = environment
  const actFor: ActFor = async (caller, accountId = caller.accountId) =>
    isPerson(caller)
      ? people.sessions.actFor(caller, accountId)
      : store.accounts.actFor(caller, accountId)
  const { claimKey } = calls.idempotency
  const countRefused = refusedCounter(calls.rateLimit.admit)
  const keys = keysOf(parts)
  const toolServer = toolServerOf(parts, claimKey, countRefused)
  const oauth = assembleOAuth({ environment, store, people, keys, counts: calls.counts })
  const streams = createResponseStreams({ limits: config.limits, monotonic })
  return {
    streams,
    contract: createContractRouter(contract, {
      inForce: current,
      forms: v1Forms,
      security: createSecurity({
        identify: store.identify,
        identifySession: people.sessions.identify,
        cookie: people.cookie,
        baseUrl: config.baseUrl,
      }),
      actFor,
      claimKey,
      countRefused,
      addressOf: (request) => current().addressOf(request),
      streams,
      limits: config.limits,
    }),
    toolServer,
    oauth,
    keys,
    /** All operations except the operations that a reload replaces. */
    operations: { ...toolServer.operations, ...administration(parts, keys), ...oauth.operations },
    close: oauth.close,
  }
}

/** The tool server, which receives events of tool clients from other processes. */
function toolServerOf(parts: Built, claimKey: ClaimKey, countRefused: CountRefused): ToolServer {
  const { environment, store, current, tracing } = parts
  const { config, events, peers, monotonic } = environment
  const toolServer = createToolServer({
    config,
    inForce: current,
    allowsOrigin: (origin) => current().allowsOrigin(origin),
    claimKey,
    countRefused,
    otherProcesses: otherProcessesOver(peers.channel),
    sessionKey: store.secret.keyFor('tool sessions', sessionKeyBytes),
    // The tool returns the error to the client; the dashboard also shows failures that the account can fix.
    onFailure: (tool, error, context) => {
      events.toolFailed(tool, error, context)
      const { caller, requestId } = context
      const request = { headers: {}, url: '/mcp' }
      store.noteRefusal(error, { request, requestId, caller, address: null })
    },
    connectionLog: store.connectionLog,
    tracing,
    monotonic,
  })
  const { fromOtherProcesses: announced } = toolServer
  peers.channel.listen({
    call_cancelled: ({ id, keyId, sessionId }) => announced.cancel({ keyId, sessionId }, id),
    log_level_set: ({ level, keyId, sessionId }) => announced.setLevel({ keyId, sessionId }, level),
    tool_session_ended: ({ keyId, sessionId }) => announced.endSession({ keyId, sessionId }),
    tool_progress: ({ accountId, progress }) => announced.publishState(accountId, progress),
  })
  return toolServer
}

/** Announces events of this process's tool clients to the other processes. */
function otherProcessesOver({ isAlone, announce }: Channel): OtherProcesses {
  return {
    cancel: (client, id) => {
      if (String(id).length <= announcedTextMax) announce({ kind: 'call_cancelled', ...client, id })
    },
    setLevel: (client, level) => announce({ kind: 'log_level_set', ...client, level }),
    endSession: (client) => announce({ kind: 'tool_session_ended', ...client }),
    publishState: isAlone
      ? undefined
      : (accountId, progress) => announce({ kind: 'tool_progress', accountId, progress }),
  }
}

/** The API keys of accounts; their model names are checked against the current generation. */
function keysOf({ environment, store: { store, audit, lastUse, announce }, current }: Built): Keys {
  const modelIds = (names: readonly string[], param?: string) => {
    const { config, models } = current()
    const known = { catalog: models.catalog, endpoints: config.endpoints, prefixes }
    return keyModelIds(names, known, param)
  }
  const { clock } = environment
  return createKeys({ store, audit, announce, modelIds, clock, usedAt: lastUse.of })
}

function administration(parts: Built, keys: Keys): ApiOperations {
  const { environment, store: stored, people, calls, current, reload } = parts
  const { store, audit, accounts, refusals, connectionLog: log } = stored
  const { clock } = environment
  const { reader } = store
  return apiOperations({
    ...people,
    ...overviews(parts),
    accounts,
    audit,
    keys,
    refusals,
    reload,
    ...createStoredActs(parts),
    budgets: calls.budgets,
    webhooks: calls.webhooks,
    cassettes: calls.cassettes,
    lookAtLimits: calls.rateLimit.look,
    limitsInForce: () => current().config.limits,
    activitiesOf: createActivities({ reader, clock }),
    connections: createConnectionLists({ store, log }),
    usage: { ...createUsageReports({ reader, clock }), ...createLatencies({ reader, clock }) },
    exports: createUsageExports({ reader, clock }),
    requests: { ...createRequests({ reader }), ...createRequestErrors({ reader, clock }) },
    reconcile: async (accountId, request) => {
      const end = reader.begin(accountId)
      const idOf = (name: string) => current().models.catalog.get(name)?.row.id
      return reconcile(reader, { ...request, forms: costForms, idOf }).finally(end)
    },
  })
}

type Overviews = { describeCatalog: DescribeCatalog; describeProviders: DescribeProviders }

/** Describes the catalog and the providers, with their last hour in the ledger. */
function overviews({
  environment,
  store: { store },
  calls: { health },
  stored,
  current,
}: Built): Overviews {
  const { clock, monotonic } = environment
  const readRecent = createRecentAttempts({ reader: store.reader, clock, monotonic })
  return {
    describeCatalog: async (caller, name) => {
      const recent = await readRecent()
      const { config, models } = current()
      const priceOf = createPriceOf(models.rows, clock)
      const order = createRouteOrder({ by: config.routeOrder, isOpen: () => false, priceOf })
      const nameOf = (id: string) => vendorOf(id)?.name ?? id
      const parts = { ...models, order, nameOf, circuitOf: health.circuitOf, clock }
      return describeCatalog(parts, caller, { name, recent })
    },
    describeProviders: async () => {
      const recent = await readRecent()
      const { config, models } = current()
      const listed = models.catalog.list({}, () => true).models
      const counts = Map.groupBy(
        listed.flatMap((model) => [
          ...new Set(models.routes.ways(model).map(({ provider }) => provider.id)),
        ]),
        (id) => id,
      )
      return describeProviders({
        ...config,
        keys: await stored.keys.list((id) => config.keySources[id] === 'store'),
        models: (id) => counts.get(id)?.length ?? 0,
        troubled: health.troubled,
        recent,
        nowMs: clock(),
      })
    },
  }
}
