import { gzipSync } from 'node:zlib'
import { setInterval } from 'node:timers'
import type { Context, Dose, Failure } from './attack.ts'
import { dosed, type HeldLoad } from './dosed.ts'
import { chatPath, posted } from './questions.ts'
import { destroyAll, openUnread, stillOpen } from './sockets.ts'

const unfinished = Buffer.alloc(4 * 1024 * 1024, 'x')
const dripMs = 100
/** The request timeout in the settings of an attack, plus the interval at which Node checks it. */
const endedWithinMs = 8000

const form = [['content-type', 'multipart/form-data; boundary=x']] as const
const part = '--x\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n'

/** Requests that arrive slowly, or never end. */
export const slowRequests = [
  stalled('unfinished-uploads', { full: 20, quick: 2 }, ({ target }) =>
    Buffer.concat([head(target.liveKey), Buffer.from('{"model":"'), unfinished]),
  ),
  stalled('unfinished-forms', { full: 20, quick: 2 }, ({ target }) =>
    Buffer.concat([head(target.liveKey, '/v1/images/edits', form), Buffer.from(part), unfinished]),
  ),
  stalled('uploads-without-a-key', { full: 20, quick: 2 }, () =>
    Buffer.concat([head('mag_live_none'), unfinished]),
  ),
  stalled('packed-bombs', { full: 12, quick: 2 }, ({ target }) =>
    posted(chatPath, target.liveKey, { headers: [['content-encoding', 'gzip']], body: bomb() }),
  ),
  dripped('slow-heads', { full: 60, quick: 5 }, () => 'GET /health HTTP/1.1\r\nx: '),
  dripped('slow-bodies', { full: 60, quick: 5 }, ({ target }) => head(target.liveKey)),
  dripped('slow-forms', { full: 60, quick: 5 }, ({ target }) =>
    Buffer.concat([head(target.liveKey, '/v1/images/edits', form), Buffer.from(part)]),
  ),
  dripped('slow-after-a-refusal', { full: 60, quick: 5 }, () => head('mag_live_none')),
  dripped('silent-connections', { full: 200, quick: 20 }, () => ''),
]

let packed: Buffer | undefined
/** 64 MiB of text, compressed to 64 KiB. */
function bomb(): Buffer {
  packed ??= gzipSync(Buffer.alloc(64 * 1024 * 1024, 'x'))
  return packed
}

/** The head of a request that announces a body of 40 MiB. */
function head(
  key: string,
  path = chatPath,
  headers: readonly (readonly [string, string])[] = [],
): Buffer {
  const length = ['content-length', String(40 * 1024 * 1024)] as const
  return posted(path, key, { headers: [...headers, length], body: '' })
}

type Counts = Record<Dose, number>

/** Sends part of a request, and keeps the connection open. */
function stalled(name: string, counts: Counts, bytes: (context: Context) => Buffer) {
  const hold = async (context: Context, count: number): Promise<HeldLoad> => {
    const sockets = await openUnread(context.target.url, count, bytes(context))
    return { release: () => destroyAll(sockets) }
  }
  return dosed({ name, counts, hold })
}

/** Sends a request byte by byte, until the gateway closes the connection. */
function dripped(name: string, counts: Counts, start: (context: Context) => Buffer | string) {
  const hold = async (context: Context, count: number): Promise<HeldLoad> => {
    const sockets = await openUnread(context.target.url, count, start(context))
    const isSilent = start(context).length === 0
    const timer = setInterval(() => {
      for (const socket of isSilent ? [] : sockets) if (socket.writable) socket.write('x')
    }, dripMs)
    return {
      release: async () => {
        const limitMs = context.dose === 'full' ? endedWithinMs : 0
        const open = await stillOpen(sockets, limitMs)
        clearInterval(timer)
        destroyAll(sockets)
        return limitMs === 0 ? [] : openFailures(open.length, limitMs, start(context))
      },
    }
  }
  return dosed({ name, counts, hold, isHurried: true })
}

function openFailures(count: number, limitMs: number, request: Buffer | string): Failure[] {
  if (count === 0) return []
  return [{ what: `${count} connections are still open after ${limitMs} ms.`, request }]
}
