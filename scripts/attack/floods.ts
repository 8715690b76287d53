import { randomUUID } from 'node:crypto'
import type { Context, Dose, Failure } from './attack.ts'
import { openLine } from './connection.ts'
import { dosed, type HeldLoad } from './dosed.ts'
import { createPool } from './pool.ts'
import { asked, got, posted } from './questions.ts'
import { destroyAll, openUnread } from './sockets.ts'

const concurrent = 16
const metricsBytesMax = 256 * 1024

/** Floods of different model names, keys, paths and questions, and of cancelled calls. */
export const floods = [
  flood('model-names', { full: 1500, quick: 40 }, ({ target }) =>
    asked(`house-${randomUUID()}`, target.liveKey),
  ),
  flood('unknown-models', { full: 1500, quick: 40 }, ({ target }) =>
    got(`/v1/models/${randomUUID()}`, { authorization: `Bearer ${target.testKey}` }),
  ),
  flood('keys', { full: 1500, quick: 40 }, () =>
    got('/v1/models', { 'x-api-key': `mag_live_${randomUUID()}` }),
  ),
  flood('paths', { full: 1500, quick: 40 }, () => got(`/${randomUUID()}`)),
  flood('methods', { full: 1500, quick: 40 }, ({ target }) =>
    posted('/mcp', target.testKey, {
      body: { jsonrpc: '2.0', id: randomUUID(), method: randomUUID() },
    }),
  ),
  flood('questions', { full: 1000, quick: 20 }, ({ target }) =>
    posted('/v1/chat/completions', target.liveKey, {
      headers: [['cache-control', 'max-age=60']],
      body: {
        model: 'own/house-1',
        messages: [{ role: 'user', content: randomUUID().repeat(200) }],
      },
    }),
  ),
  dosed({
    name: 'cancelled-calls',
    counts: { full: 600, quick: 10 },
    hold: async ({ target }, count): Promise<HeldLoad> => {
      const question = asked('endless', target.liveKey, { stream: true })
      for (let left = count; left > 0; left -= concurrent) {
        const sockets = await openUnread(target.url, Math.min(left, concurrent), question)
        await Promise.race(
          sockets.map((socket) => new Promise((done) => socket.once('readable', done))),
        )
        destroyAll(sockets)
      }
      return { release: () => [] }
    },
  }),
]

function flood(name: string, counts: Record<Dose, number>, next: (context: Context) => Buffer) {
  const hold = async (context: Context, count: number): Promise<HeldLoad> => {
    const { url } = context.target
    const lines = Array.from({ length: concurrent }, () => openLine(url))
    const pool = createPool(lines)
    const failures: Failure[] = []
    for (let sent = 0; sent < count; sent++) {
      const request = next(context)
      await pool.run(async (line) => {
        const { answers, end } = await line.ask(request, { answersMax: 1 })
        const status = answers[0]?.status
        if (status === undefined) failures.push({ what: `No answer (${end}).`, request })
        else if (status === 500 || status === 502)
          failures.push({ what: `The status is ${status}.`, request })
      })
    }
    await pool.idle()
    lines.forEach((line) => line.close())
    return { release: async () => [...failures, ...(await metricsFaults(url))] }
  }
  return dosed({ name: `many-${name}`, counts, hold })
}

/** Names that callers choose must not become metric labels. */
async function metricsFaults(url: string): Promise<Failure[]> {
  const text = await (await fetch(`${url}/metrics`)).text()
  if (text.length <= metricsBytesMax) return []
  return [{ what: `/metrics has grown to ${text.length} bytes.`, request: got('/metrics') }]
}
