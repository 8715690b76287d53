import type { ErrorReply } from '@redis/client'
import { connectRedis, ping, type RedisCommands, type RedisLink } from './redis-link.ts'
import {
  operatorTrouble,
  RedisDown,
  RedisRefusal,
  troubleOf,
  type RedisTrouble,
  within,
} from './redis-trouble.ts'
import { readRedisUrl, redisPlace } from './redis-url.ts'

/** Redis, which holds only data that may be lost. */
export type Redis = Awaited<ReturnType<typeof openRedis>>

export type RedisOptions = {
  url: string
  keyPrefix: string
  limits: {
    redisConnectTimeoutMs: number
    redisCommandTimeoutMs: number
    redisPingIntervalMs: number
  }
  events: RedisEvents
}

/** Events that are logged for the operator. */
type RedisEvents = {
  redisLost(place: string, trouble: RedisTrouble): void
  redisBack(place: string, awayMs: number): void
  redisRefused(place: string, trouble: Omit<RedisTrouble, 'isRefusal'>): void
}

/** Pauses between connection attempts; short, to reconnect within two seconds after a restart. */
const pausesMs = [50, 100, 200, 400, 500] as const
/** Interval between log lines about refused commands, which would otherwise repeat for each call. */
const refusalLogIntervalMs = 60_000

/**
 * Connects to Redis and reconnects when the connection is lost. If Redis does not answer, the gateway
 * starts without it. Throws a RedisRefusal if Redis rejects the address or password: waiting would not
 * help, and limits would not be shared without notice.
 */
export async function openRedis({ url, keyPrefix, limits, events }: RedisOptions) {
  const address = readRedisUrl(url)
  if (typeof address === 'string') throw new RedisRefusal(`REDIS_URL: ${address}`)
  // The driver is loaded only if it is used.
  const driver = await import('@redis/client')
  const place = redisPlace(address)
  const subscriptions = createSubscriptions(`${keyPrefix}${address.database}:`)
  const reportRefusal = createRefusals(events, place)
  const state = createState(place, events)
  const connection = keepConnected({
    state,
    pingIntervalMs: limits.redisPingIntervalMs,
    connect: (onBroken) =>
      connectRedis({
        driver,
        address,
        keyPrefix,
        connectTimeoutMs: limits.redisConnectTimeoutMs,
        prepare: subscriptions.restore,
        onBroken,
      }),
  })
  /**
   * Runs commands, whose keys get the gateway's prefix. Rejects with a RedisDown at once if Redis is
   * unavailable, after the timeout, or if the connection is lost; with the driver's ErrorReply if Redis returns
   * an error.
   */
  const run = async <T>(
    work: (commands: RedisCommands) => Promise<T>,
    timeoutMs = limits.redisCommandTimeoutMs,
  ): Promise<T> => {
    const link = state.link()
    if (link === undefined) throw new RedisDown('Redis is unavailable.')
    try {
      return await within(timeoutMs, work(link.commands))
    } catch (error) {
      if (!(error instanceof driver.ErrorReply)) throw asDown(error)
      reportRefusal(error)
      throw error
    }
  }

  await connection.start((trouble) => {
    if (trouble.isRefusal) throw refusal(place, trouble)
  })
  return {
    /** Host, port and number of the database. */
    place,
    /** Whether Redis answered the last ping, which was sent at most two ping intervals ago. */
    isUp: () => state.link() !== undefined,
    run,
    /** Publishes a text to all subscribers of a channel, in all processes of this gateway. */
    publish: async (channel: string, message: string): Promise<void> => {
      await run((commands) => commands.publish(subscriptions.nameOf(channel), message))
    },
    /** Subscribes to a channel for good; resubscribes after a reconnect. */
    subscribe: (channel: string, listener: (message: string) => void) =>
      subscriptions.add(channel, listener, state.link()),
    close: connection.close,
  }
}

type ConnectionParts = {
  state: ReturnType<typeof createState>
  pingIntervalMs: number
  connect: (onBroken: (link: RedisLink, error: Error) => void) => Promise<RedisLink>
}

/** Pings the server and replaces broken links, until `close` is called. */
function keepConnected({ state, pingIntervalMs, connect }: ConnectionParts) {
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
    /** Resolves after the first attempt. Passes its failure to `onTrouble`, which may throw. */
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

/** The current link; reports each loss and each reconnect once. */
function createState(place: string, events: RedisEvents) {
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
    },
    lost: (trouble: RedisTrouble): void => {
      const isNews = lostAt === undefined || (trouble.isRefusal && !wasRefused)
      link = undefined
      wasRefused ||= trouble.isRefusal
      if (isNews) events.redisLost(place, trouble)
      lostAt ??= performance.now()
    },
    close: (): void => {
      link?.destroy()
      link = undefined
    },
  }
}

/** Subscriptions, kept across links. Channel names include the database, since Redis shares channels between databases. */
function createSubscriptions(prefix: string) {
  const subscribed = new Map<string, (message: string) => void>()
  const nameOf = (channel: string) => `${prefix}${channel}`
  return {
    nameOf,
    add: (channel: string, listener: (message: string) => void, link: RedisLink | undefined) => {
      subscribed.set(nameOf(channel), listener)
      // If the link breaks, the next link subscribes again.
      link?.subscriber.subscribe(nameOf(channel), listener).catch(() => undefined)
    },
    restore: ({ subscriber }: RedisLink) =>
      Promise.all([...subscribed].map(([name, listener]) => subscriber.subscribe(name, listener))),
  }
}

/** Reports errors of Redis that an operator must fix, at most once per interval. */
function createRefusals(events: RedisEvents, place: string): (error: ErrorReply) => void {
  let nextLogAt = -Infinity
  return (error) => {
    const trouble = operatorTrouble(error)
    if (trouble === undefined || performance.now() < nextLogAt) return
    nextLogAt = performance.now() + refusalLogIntervalMs
    events.redisRefused(place, trouble)
  }
}

function asDown(error: unknown): RedisDown {
  return error instanceof RedisDown ? error : new RedisDown('Redis was lost.', { cause: error })
}

function refusal(place: string, { reason, remedy }: RedisTrouble): RedisRefusal {
  return new RedisRefusal(`Redis at ${place} cannot be used: ${reason}. ${remedy}`)
}
