import { randomUUID } from 'node:crypto'
import { announcementLengthMax, type Announcement } from './announcement.ts'
import { createHearing, type Channel } from './channel.ts'
import type { Redis } from './redis.ts'

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
