import type { createClient } from '@redis/client'
import { within } from './redis-trouble.ts'
import type { RedisAddress } from './redis-url.ts'

/** The driver's client, which adds the gateway's prefix to key names. */
export type RedisCommands = ReturnType<typeof clientOf>

/** One connection for commands and one for subscriptions; both are open, or both are closed. */
export type RedisLink = {
  commands: RedisCommands
  subscriber: RedisCommands
  /** Closes both connections; pending commands are rejected. */
  destroy(): void
}

/** Maximum of pending commands; further commands are rejected. */
const commandsMax = 10_000

type Options = {
  driver: { createClient: typeof createClient }
  address: RedisAddress
  keyPrefix: string
  connectTimeoutMs: number
  /** Runs on the new link before it is used. */
  prepare: (link: RedisLink) => Promise<unknown>
  /** Called on errors of the link, also while it is being opened. */
  onBroken: (link: RedisLink, error: Error) => void
}

/** Opens both connections within the time limit. Rejects with the driver's error, or a RedisDown. */
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
    // Closes a connection that opens after the time limit.
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
    // Callers use `within`, since the driver's timeout creates an AbortSignal for each command.
    commandOptions: { timeout: 0 },
    socket: {
      host,
      port,
      connectTimeout: connectTimeoutMs,
      // `openRedis` replaces a broken link.
      reconnectStrategy: false,
      ...(address.isEncrypted
        ? { tls: true, ...(serverName === undefined ? {} : { servername: serverName }) }
        : {}),
    },
  })
}

/** Pings the server on both connections. Rejects if an answer is late. */
export async function ping({ commands, subscriber }: RedisLink, timeoutMs: number): Promise<void> {
  await within(timeoutMs, Promise.all([commands.ping(), subscriber.ping()]))
}
