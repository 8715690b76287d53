import { randomUUID } from 'node:crypto'
import { announcementLengthMax } from './announcement.ts'
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
      redis
        .publish(name, JSON.stringify({ from: self, announcement }))
        // Who should have heard it looks for itself.
        .catch(() => undefined)
    },
  }
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
