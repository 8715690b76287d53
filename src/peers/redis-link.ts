import type { createClient } from '@redis/client'
import { RedisDown, within } from './redis-trouble.ts'
import type { RedisAddress } from './redis-url.ts'

type Driver = { createClient: typeof createClient }

/** The driver's commands; names of keys get the gateway's prefix. */
export type RedisCommands = ReturnType<typeof clientOf>

/** One connection for commands and one for what is listened to: both are there, or none. */
export type RedisLink = {
  commands: RedisCommands
  subscriber: RedisCommands
  /** Breaks both; what is under way on them is rejected. */
  destroy(): void
}

/** Commands that wait for their answers; more are rejected. */
const commandsMax = 10_000

type Options = {
  driver: Driver
  address: RedisAddress
  keyPrefix: string
  connectTimeoutMs: number
  /** What else has to be done on the link before it counts. */
  prepare: (link: RedisLink) => Promise<unknown>
  /** Told once when the link breaks, also while it is being made. */
  onBroken: (link: RedisLink, error: Error) => void
}

/** Makes both connections, within the limit. Rejects with the driver's error, or a RedisDown. */
export async function connectRedis(options: Options): Promise<RedisLink> {
  const { connectTimeoutMs, prepare, onBroken } = options
  const clients = [clientOf(options), clientOf(options)] as const
  const [commands, subscriber] = clients
  const link: RedisLink = {
    commands,
    subscriber,
    destroy: () => {
      for (const client of clients) client.destroy()
    },
  }
  for (const client of clients) client.on('error', (error: Error) => onBroken(link, error))
  const connecting = clients.map((client) => client.connect())
  try {
    await within(
      connectTimeoutMs,
      Promise.all(connecting).then(() => prepare(link)),
    )
    return link
  } catch (error) {
    link.destroy()
    // One that is late would stay open.
    for (const [index, late] of connecting.entries()) {
      late.then(() => clients[index]!.destroy()).catch(() => undefined)
    }
    throw error
  }
}

function clientOf({ driver, address, keyPrefix, connectTimeoutMs }: Options) {
  const { host, port, database, username, password, serverName } = address
  return driver.createClient({
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    database,
    keyPrefix,
    name: 'gateway',
    disableOfflineQueue: true,
    commandsQueueMaxLength: commandsMax,
    maintNotifications: 'disabled',
    // Who asks has a limit of its own (`within`); the driver's costs an AbortSignal for each command.
    commandOptions: { timeout: 0 },
    socket: {
      host,
      port,
      connectTimeout: connectTimeoutMs,
      // A link that broke is replaced by another one (`openRedis`).
      reconnectStrategy: false,
      ...(address.isEncrypted
        ? { tls: true, ...(serverName === undefined ? {} : { servername: serverName }) }
        : {}),
    },
  })
}

/** Asks both connections whether the server is there. Rejects when it does not say so in time. */
export async function ping({ commands, subscriber }: RedisLink, timeoutMs: number): Promise<void> {
  await within(timeoutMs, Promise.all([commands.ping(), subscriber.ping()]))
}

/** The error for who asks a Redis that is not there. */
export function isNotThere(): RedisDown {
  return new RedisDown('Redis is not there.')
}
