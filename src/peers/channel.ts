import {
  readAnnouncement,
  type Announcement,
  type AnnouncementOf,
  announcementLengthMax,
} from './announcement.ts'
import { randomUUID } from 'node:crypto'
import { jsonObject } from '../core/any-json.ts'
import type { Redis } from './redis.ts'

/**
 * Announcements between the processes of a gateway. A lost announcement only costs time, since processes
 * also read changes from the store periodically.
 */
export type Channel = {
  readonly isAlone: boolean
  /** Sends to the other processes, but not to this one. */
  announce(announcement: Announcement): void
  /** Registers listeners for announcements of other processes, by kind. */
  listen(listeners: Listeners): void
}

export type Listeners = {
  readonly [Kind in Announcement['kind']]?: (announcement: AnnouncementOf<Kind>) => void
}

/** The channel of a gateway with one process. */
export const aloneChannel: Channel = {
  isAlone: true,
  announce: () => undefined,
  listen: () => undefined,
}

/** Validates incoming messages and passes them to the listeners. */
export function createListeners(): {
  listen: Channel['listen']
  receive: (value: unknown) => void
} {
  const all: Listeners[] = []
  return {
    listen: (listeners) => {
      all.push(listeners)
    },
    receive: (value) => {
      const announcement = readAnnouncement(value)
      if (announcement === undefined) return
      // TypeScript cannot infer that the listener matches the kind.
      const { kind } = announcement as AnnouncementOf<'sessions_changed'>
      for (const listeners of all) listeners[kind]?.(announcement as never)
    },
  }
}

const name = 'announcements'

/** The channel of processes that share a Redis. Announcements are lost while Redis is unavailable. */
export function createRedisChannel(redis: Pick<Redis, 'publish' | 'subscribe'>): Channel {
  const self = randomUUID()
  const { listen, receive } = createListeners()
  redis.subscribe(name, (text) => {
    const envelope = parse(text)
    if (envelope?.from !== self) receive(envelope?.announcement)
  })
  return {
    isAlone: false,
    listen,
    announce: (announcement) => {
      // Other processes read the change from the store later.
      publish(redis, { from: self, announcement }).catch(() => undefined)
    },
  }
}

/** Publishes announcements without opening a channel, for commands. Throws a RedisDown. */
export async function announceOnce(
  redis: Pick<Redis, 'publish'>,
  announcements: readonly Announcement[],
): Promise<void> {
  const from = randomUUID()
  await Promise.all(announcements.map((announcement) => publish(redis, { from, announcement })))
}

function publish(
  redis: Pick<Redis, 'publish'>,
  envelope: { from: string; announcement: Announcement },
): Promise<void> {
  return redis.publish(name, JSON.stringify(envelope))
}

function parse(text: string): { from?: unknown; announcement?: unknown } | undefined {
  return text.length > announcementLengthMax ? undefined : jsonObject(text)
}
