import {
  readAnnouncement,
  type Announcement,
  type AnnouncementOf,
  announcementLengthMax,
} from './announcement.ts'
import { randomUUID } from 'node:crypto'
import type { Redis } from './redis.ts'

/**
 * What the processes of a gateway tell each other. One that is lost costs time and nothing else: what it
 * told is looked for once in a while all the same.
 */
export type Channel = {
  /** Whether there is nobody to tell. */
  readonly isAlone: boolean
  /** Tells the other processes; this one does not hear it. */
  announce(announcement: Announcement): void
  /** Hears what others announce, by kind. */
  listen(listeners: Listeners): void
}

/** What is done by kind; other kinds are not heard. */
export type Listeners = {
  readonly [Kind in Announcement['kind']]?: (announcement: AnnouncementOf<Kind>) => void
}

/** The channel of a gateway of one process. */
export const aloneChannel: Channel = {
  isAlone: true,
  announce: () => undefined,
  listen: () => undefined,
}

/** Passes what comes in, which nobody has checked, to those who listen for it. */
export function createHearing(): {
  listen: Channel['listen']
  hear: (value: unknown) => void
} {
  const all: Listeners[] = []
  return {
    listen: (listeners) => {
      all.push(listeners)
    },
    hear: (value) => {
      const announcement = readAnnouncement(value)
      if (announcement === undefined) return
      // The compiler does not see that a listener is that of the kind.
      const { kind } = announcement as AnnouncementOf<'sessions_changed'>
      for (const listeners of all) listeners[kind]?.(announcement as never)
    },
  }
}

const name = 'announcements'

/** The channel of processes that share a Redis. What is announced while Redis is away is lost. */
export function createRedisChannel(redis: Pick<Redis, 'publish' | 'subscribe'>): Channel {
  const self = randomUUID()
  const { listen, hear } = createHearing()
  redis.subscribe(name, (text) => {
    const envelope = parse(text)
    if (envelope?.from !== self) hear(envelope?.announcement)
  })
  return {
    isAlone: false,
    listen,
    announce: (announcement) => {
      // Who should have heard it looks for itself.
      publish(redis, { from: self, announcement }).catch(() => undefined)
    },
  }
}

/** Tells all processes, by one that has no channel since it ends. Throws a RedisDown. */
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

type Envelope = { from?: unknown; announcement?: unknown }

function parse(text: string): Envelope | undefined {
  if (text.length > announcementLengthMax) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
