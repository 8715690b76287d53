import { createAccounts } from '../accounts/accounts.ts'
import { createAudit, sweepAudit } from '../accounts/audit.ts'
import { createConnectionLog } from '../accounts/connection-log.ts'
import { createIdentify } from '../accounts/identify.ts'
import { createKeyWatch } from '../accounts/key-watch.ts'
import { createLastUse } from '../accounts/last-use.ts'
import { createRefusals } from '../accounts/refusals.ts'
import { isOfSession } from '../accounts/session-keys.ts'
import type { MemoryBudget } from '../bytes/memory-budget.ts'
import { toolServerAddress, type Config, type Secrets } from '../settings/config.ts'
import type { GatewayError } from '../core/error.ts'
import type { FailoverPolicy } from '../core/resilience/failover.ts'
import { attemptOf, type Refused } from '../http/refused-attempt.ts'
import { toolScope } from '../oauth/metadata.ts'
import type { Announce } from '../peers/announcement.ts'
import {
  aloneChannel,
  createListeners,
  type Listeners,
  createRedisChannel,
} from '../peers/channel.ts'
import { openRedis, type Redis } from '../peers/redis.ts'
import type { PublicNet } from '../pictures/guarded-fetch.ts'
import { createEncryption } from '../storage/encryption.ts'
import { readGatewaySecret } from '../storage/gateway-secret.ts'
import { openStore } from '../storage/open-store.ts'
import { toStoreError } from '../storage/store-error.ts'
import { guardStore } from '../storage/store-guard.ts'
import type { Events } from '../telemetry/events.ts'

/** The dependencies of all parts. */
export type Environment = {
  /** The settings at the start. */
  config: Config
  secrets: Secrets
  events: Events
  peers: Peers
  /** The memory for all requests of this process together. */
  memoryBudget: MemoryBudget
  /** Access to public addresses. */
  publicNet: PublicNet
  /** Unix time in milliseconds. */
  clock: () => number
  /** Milliseconds of a monotonic clock. */
  monotonic: () => number
  sleep: FailoverPolicy['sleep']
  random: () => number
}

/** Communication between processes: replicas, and workers on one machine. */
export type Peers = Awaited<ReturnType<typeof openPeers>>

/** The store, and its access to accounts, keys and usage. */
export type StoreParts = ReturnType<typeof assembleStore>
export type OpenStore = Awaited<ReturnType<typeof openStoreWithSecret>>

type PeersOptions = {
  config: Pick<Config, 'redisKeyPrefix' | 'limits'>
  secrets: Pick<Secrets, 'redisUrl'>
  events: Events
}

/** Connects to Redis, if configured, and to other processes. Throws a RedisRefusal. */
export async function openPeers(options: PeersOptions) {
  const redis = await redisOf(options)
  const channel = redis === undefined ? aloneChannel : createRedisChannel(redis)
  return {
    redis,
    /** The channel to all other processes. */
    channel,
    close: () => redis?.close(),
  }
}

async function redisOf({
  config: { redisKeyPrefix: keyPrefix, limits },
  secrets: { redisUrl },
  events,
}: PeersOptions): Promise<Redis | undefined> {
  if (redisUrl === undefined) return undefined
  const redis = await openRedis({ url: redisUrl, keyPrefix, limits, events })
  if (redis.isUp()) events.redisUsed(redis.place)
  return redis
}

type Opening = Pick<Environment, 'config' | 'secrets' | 'events' | 'monotonic'> & {
  /** Whether this process checks the store's integrity; only one of several processes does. */
  examines: boolean
}

/** Opens the store and reads the secret in it. */
export async function openStoreWithSecret(options: Opening) {
  const { config, secrets, events, monotonic, examines } = options
  const opened = await openStore({ ...config, examines }, secrets, events.storeNoticed)
  const store = await guardStore({ store: opened, config, monotonic, events })
  // The check is not awaited, since reading a large store takes minutes.
  if (examines)
    opened.check().catch((error: unknown) => {
      events.storeNoticed(
        `The store could not be checked: ${toStoreError(error).diagnosis.reason}.`,
      )
    })
  const secret = await store.starting(() => readGatewaySecret(store.db))
  return { store, secret, encryption: createEncryption({ ...config, ...secrets }) }
}

/**
 * Builds the accounts and the authentication of their keys. Announced changes, of this or another process,
 * are read at once; other changes with the next periodic read.
 */
export function assembleStore(environment: Environment, opened: OpenStore) {
  const { config, events, peers, clock, monotonic } = environment
  const { store } = opened
  const { limits } = config
  const audit = createAudit(store, clock)
  const lastUse = createLastUse({ store, clock, ...limits })
  const written = (work: string) => (error?: unknown) => events.worked(work, error)
  const logged = { store, clock, limits }
  const connectionLog = createConnectionLog({ ...logged, onWritten: written('connection_log') })
  const refusals = createRefusals({ ...logged, onWritten: written('refusals') })
  const auditSweep = sweepAudit({ store, clock, limits, onSwept: written('audit_events') })
  const keyWatch = createKeyWatch({ store, clock, ...limits })
  const known = createIdentify({
    store,
    clock,
    monotonic,
    ...limits,
    tokensFor: { audience: toolServerAddress(config), scope: toolScope },
    onUse: lastUse.note,
  })
  const changed: Listeners = {
    keys_changed: ({ keyIds }) => {
      known.forget(({ keyId, boundTo = keyId }) =>
        [keyId, boundTo].some((id) => keyIds.includes(id)),
      )
      keyWatch.look()
    },
    account_changed: ({ accountId: id }) => known.forget(({ accountId }) => accountId === id),
    sessions_changed: () => {
      known.forget(isOfSession)
      keyWatch.look()
    },
  }
  peers.channel.listen(changed)
  const here = createListeners()
  here.listen(changed)
  const announce: Announce = (announcement) => {
    here.receive(announcement)
    peers.channel.announce(announcement)
  }
  return {
    ...opened,
    audit,
    accounts: createAccounts({ store, audit, announce, clock }),
    announce,
    identify: known.identify,
    followKey: keyWatch.follow,
    lastUse,
    connectionLog,
    refusals,
    /** Records an error that was returned to a client, for the dashboard. */
    noteRefusal: (error: GatewayError, refused: Refused) => {
      refusals.count(error, refused.caller)
      const attempt = attemptOf(error, refused)
      if (attempt !== undefined) connectionLog.refused(attempt)
    },
    /** Writes pending rows for the last time; does not close the store. */
    closeRecords: async () => {
      keyWatch.close()
      auditSweep.close()
      await lastUse.close()
      await connectionLog.close()
      await refusals.close()
    },
  }
}
