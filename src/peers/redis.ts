import type { ErrorReply } from '@redis/client'
import { connectRedis, isNotThere, ping, type RedisCommands, type RedisLink } from './redis-link.ts'
import {
  limpOf,
  RedisDown,
  RedisRefusal,
  troubleOf,
  type RedisTrouble,
  within,
} from './redis-trouble.ts'
import { readRedisUrl, redisPlace } from './redis-url.ts'

/** What is asked of Redis by several processes, all of which may be lost. */
export type Redis = {
  /** Host, port and number of the database. */
  readonly place: string
  /** Whether it answered the last time that it was asked; at most two pings old. */
  isUp(): boolean
  /**
   * Runs commands, whose keys get the gateway's prefix. Rejects with a RedisDown at once when Redis is
   * not there, and when it takes longer than `timeoutMs` (redis_command_timeout_ms) or is lost
   * meanwhile; with the driver's ErrorReply when Redis refuses.
   */
  run<T>(work: (commands: RedisCommands) => Promise<T>, timeoutMs?: number): Promise<T>
  /** Sends a text to all who listen on a channel of this gateway, in all of its processes. */
  publish(channel: string, message: string): Promise<void>
  /** Listens on a channel, also after Redis was lost and is back; not to be ended. */
  subscribe(channel: string, listener: (message: string) => void): void
  /** Tells when Redis is lost and when it is back, until the returned function is called. */
  listen(listener: RedisListener): () => void
  close(): void
}

type RedisListener = { onUp?(): void; onDown?(): void }

export type RedisOptions = {
  /** REDIS_URL. */
  url: string
  /** redis_key_prefix. */
  keyPrefix: string
  limits?: {
    redisConnectTimeoutMs?: number
    redisCommandTimeoutMs?: number
    redisPingIntervalMs?: number
  }
  events: RedisEvents
}

/** What the operator is told. */
type RedisEvents = {
  redisLost(place: string, trouble: RedisTrouble): void
  redisBack(place: string, awayMs: number): void
  redisRefused(place: string, trouble: Omit<RedisTrouble, 'isRefusal'>): void
}

/** Redis is in the same network: a slower one counts as away, and calls go on without it. */
const connectStandardMs = 1000
const commandStandardMs = 250
/** A Redis that hangs is noticed within two intervals (docs/redis.md). */
const pingStandardMs = 500
/** Pauses between tries to connect: short, since it has to be back two seconds after its server. */
const pausesMs = [50, 100, 200, 400, 500] as const
/** What Redis refuses is refused for each call. */
const refusalToldAgainMs = 60_000

/**
 * Connects to Redis and stays connected. Where nothing answers the gateway starts all the same, since
 * Redis holds only what may be lost. Throws a RedisRefusal where the server answers that the address or
 * the password is wrong: waiting would not mend it, and limits that are not shared would go unnoticed.
 */
export async function openRedis({
  url,
  keyPrefix,
  limits = {},
  events,
}: RedisOptions): Promise<Redis> {
  const address = readRedisUrl(url)
  if (typeof address === 'string') throw new RedisRefusal(`REDIS_URL: ${address}`)
  // Loaded only where it is used: the embedded gateway starts without it.
  const driver = await import('@redis/client')
  const place = redisPlace(address)
  const listeners = new Set<RedisListener>()
  const subscriptions = createSubscriptions(`${keyPrefix}${address.database}:`)
  const tellRefusal = createRefusals(events, place)
  const state = createState({ place, events, listeners })
  const keeper = keepConnected({
    state,
    pingIntervalMs: limits.redisPingIntervalMs ?? pingStandardMs,
    connect: (onBroken) =>
      connectRedis({
        driver,
        address,
        keyPrefix,
        connectTimeoutMs: limits.redisConnectTimeoutMs ?? connectStandardMs,
        prepare: subscriptions.restore,
        onBroken,
      }),
  })
  const { redisCommandTimeoutMs: commandTimeoutMs = commandStandardMs } = limits
  const run: Redis['run'] = async (work, timeoutMs = commandTimeoutMs) => {
    const link = state.link()
    if (link === undefined) throw isNotThere()
    try {
      return await within(timeoutMs, work(link.commands))
    } catch (error) {
      if (!(error instanceof driver.ErrorReply)) throw asDown(error)
      tellRefusal(error)
      throw error
    }
  }

  await keeper.start((trouble) => {
    if (trouble.isRefusal) throw refusal(place, trouble)
  })
  return {
    place,
    isUp: () => state.link() !== undefined,
    run,
    publish: async (channel, message) => {
      await run((commands) => commands.publish(subscriptions.nameOf(channel), message))
    },
    subscribe: (channel, listener) => subscriptions.add(channel, listener, state.link()),
    listen: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: keeper.close,
  }
}

type KeeperParts = {
  state: ReturnType<typeof createState>
  pingIntervalMs: number
  connect: (onBroken: (link: RedisLink, error: Error) => void) => Promise<RedisLink>
}

/** Asks the link whether the server is there, and replaces one that broke, for ever. */
function keepConnected({ state, pingIntervalMs, connect }: KeeperParts) {
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  const lose = (link: RedisLink, error: unknown): void => {
    if (state.link() !== link) return
    link.destroy()
    state.lost(troubleOf(error))
    plan(0)
  }
  const renew = async (): Promise<void> => {
    const link = await connect(lose)
    if (isClosed) return link.destroy()
    state.found(link)
    watch(link)
  }
  const plan = (tries: number): void => {
    if (isClosed) return
    const pauseMs = pausesMs[Math.min(tries, pausesMs.length - 1)]!
    timer = setTimeout(() => {
      renew().catch((error: unknown) => {
        if (isClosed) return
        state.lost(troubleOf(error))
        plan(tries + 1)
      })
    }, pauseMs).unref()
  }
  const watch = (link: RedisLink): void => {
    timer = setTimeout(() => {
      ping(link, pingIntervalMs).then(
        () => state.link() === link && watch(link),
        (error: unknown) => lose(link, error),
      )
    }, pingIntervalMs).unref()
  }
  return {
    /** Resolves behind the first try; what it failed with is passed on first, which may throw. */
    start: (onTrouble: (trouble: RedisTrouble) => void): Promise<void> =>
      renew().catch((error: unknown) => {
        const trouble = troubleOf(error)
        onTrouble(trouble)
        state.lost(trouble)
        plan(0)
      }),
    close: (): void => {
      isClosed = true
      clearTimeout(timer)
      state.close()
    },
  }
}

type StateParts = { place: string; events: RedisEvents; listeners: ReadonlySet<RedisListener> }

/** Which link there is, and what is told of its coming and going: each once. */
function createState({ place, events, listeners }: StateParts) {
  let link: RedisLink | undefined
  let lostAt: number | undefined
  let wasRefused = false
  return {
    link: () => link,
    found: (next: RedisLink): void => {
      link = next
      if (lostAt !== undefined) events.redisBack(place, Math.round(performance.now() - lostAt))
      lostAt = undefined
      wasRefused = false
      for (const { onUp } of listeners) onUp?.()
    },
    lost: (trouble: RedisTrouble): void => {
      const isNews = lostAt === undefined || (trouble.isRefusal && !wasRefused)
      link = undefined
      wasRefused ||= trouble.isRefusal
      if (isNews) events.redisLost(place, trouble)
      if (lostAt !== undefined) return
      lostAt = performance.now()
      for (const { onDown } of listeners) onDown?.()
    },
    close: (): void => {
      link?.destroy()
      link = undefined
    },
  }
}

/** What is listened to, on whichever link. Names of channels know no database, so that they hold it. */
function createSubscriptions(prefix: string) {
  const subscribed = new Map<string, (message: string) => void>()
  const nameOf = (channel: string) => `${prefix}${channel}`
  return {
    nameOf,
    add: (channel: string, listener: (message: string) => void, link: RedisLink | undefined) => {
      subscribed.set(nameOf(channel), listener)
      // A link that breaks is replaced, and listens then.
      link?.subscriber.subscribe(nameOf(channel), listener).catch(() => undefined)
    },
    restore: ({ subscriber }: RedisLink) =>
      Promise.all([...subscribed].map(([name, listener]) => subscriber.subscribe(name, listener))),
  }
}

/** Tells what Redis refuses for a reason of its own; once in a while. */
function createRefusals(events: RedisEvents, place: string): (error: ErrorReply) => void {
  let toldAgainAt = -Infinity
  return (error) => {
    const limp = limpOf(error)
    if (limp === undefined || performance.now() < toldAgainAt) return
    toldAgainAt = performance.now() + refusalToldAgainMs
    events.redisRefused(place, limp)
  }
}

function asDown(error: unknown): RedisDown {
  return error instanceof RedisDown ? error : new RedisDown('Redis was lost.', { cause: error })
}

function refusal(place: string, { reason, remedy }: RedisTrouble): RedisRefusal {
  return new RedisRefusal(`Redis at ${place} cannot be used: ${reason}. ${remedy}`)
}
