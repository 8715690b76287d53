import type { Context } from './attack.ts'
import { dosed, type HeldLoad } from './dosed.ts'
import { asked, got, posted } from './questions.ts'
import { destroyAll, openUnread } from './sockets.ts'

const pipelined = 16

/** Connections that request much and read nothing. */
export const unreadAnswers = [
  unread('unread-pages', { full: 6, quick: 2 }, () =>
    Buffer.concat(Array.from({ length: pipelined }, () => got('/openapi.yaml'))),
  ),
  unread('unread-models', { full: 12, quick: 2 }, ({ target }) => {
    const authorization = `Bearer ${target.testKey}`
    return Buffer.concat(
      Array.from({ length: pipelined }, () => got('/v1/models', { authorization })),
    )
  }),
  unread('unread-chats', { full: 20, quick: 2 }, ({ target }) => asked('large', target.liveKey)),
  unread('unread-pictures', { full: 12, quick: 1 }, ({ target }) =>
    posted('/v1/images/generations', target.liveKey, {
      body: { model: 'own/large', prompt: 'A fox' },
    }),
  ),
  unread('unread-streams', { full: 20, quick: 4 }, ({ target }) =>
    asked('endless', target.liveKey, { stream: true }),
  ),
  unread('unread-events', { full: 40, quick: 10 }, ({ target }) => {
    const authorization = `Bearer ${target.testKey}`
    return got('/mcp', { authorization, accept: 'text/event-stream' })
  }),
  unread('pipelined-requests', { full: 4, quick: 1 }, () =>
    Buffer.concat(Array.from({ length: 2000 }, () => got('/health'))),
  ),
]

function unread(
  name: string,
  counts: { full: number; quick: number },
  bytes: (context: Context) => Buffer,
) {
  const hold = async (context: Context, count: number): Promise<HeldLoad> => {
    const sockets = await openUnread(context.target.url, count, bytes(context))
    return { release: () => destroyAll(sockets) }
  }
  return dosed({ name, counts, hold })
}
