import { setTimeout as sleep } from 'node:timers/promises'
import { chanceFrom } from '../../test/support/chance.ts'
import { pixel } from '../../test/support/pixel.ts'
import { until } from '../../test/support/until.ts'
import { createAccount, createKey } from './administration.ts'
import type { Attack, Context, Outcome } from './attack.ts'
import { ledgerFaults, noteReservations, reservationsIn, rowsOf } from './money-ledger.ts'

const rounds = { full: 10, quick: 3 }
/** Concurrent calls of each kind. Their total is below the concurrency limit of a key. */
const callers = 6
const settledMs = 30_000

/** The ledger is settled when it has not changed for this time, which is longer than a call. */
const quietMs = 500

const [chatModel, streamModel, toolModel] = ['gpt-5-mini', 'gpt-5-nano', 'gpt-5.2']
const imageModel = 'alibaba/qwen-image-2.0'
const routes = {
  [chatModel]: ['own/left-chat'],
  [streamModel]: ['own/left-stream'],
  [toolModel]: ['own/left-tool'],
  [imageModel]: ['own/left-image'],
}

type Kind = { path: string; body(text: string): object }

const chat = (model: string, text: string) => ({
  model,
  messages: [{ role: 'user', content: text }],
  max_tokens: 100,
})
const picture = (text: string) => ({ model: imageModel, prompt: text, size: '1024x1024' })
const call = (name: string, given: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: given },
})

const [chatPath, toolPath] = ['/v1/chat/completions', '/mcp']
const edited = { images: [{ image_url: pixel }] }

/** One request of each API. */
const kinds: readonly Kind[] = [
  { path: chatPath, body: (text) => chat(chatModel, text) },
  { path: chatPath, body: (text) => ({ ...chat(streamModel, text), stream: true }) },
  { path: toolPath, body: (text) => call('chat', chat(toolModel, text)) },
  { path: '/v1/images/generations', body: picture },
  { path: '/v1/images/edits', body: (text) => ({ ...picture(text), ...edited }) },
  { path: toolPath, body: (text) => call('generate-image', picture(text)) },
]

/**
 * Callers disconnect during calls: each request to the provider must be in the ledger with its cost, and no
 * reservation of a budget may be left.
 */
export const leaving: Attack = { name: 'leaving', startsOwn: true, run }

async function run({ start, asked, seed, dose }: Context): Promise<Outcome> {
  const chance = chanceFrom(seed)
  const sentFor = (route: string) => asked(route.slice('own/'.length))
  const before = new Map(Object.values(routes).map(([route]) => [route, sentFor(route!)]))
  const target = await start({ routes })
  const { url, dataDir } = target
  noteReservations(dataDir)
  const budget = { usd: '1000', period: 'month' }
  const accountId = await createAccount(target, { name: 'leaving', budget })
  const seen = { left: 0, answered: 0 }
  const refusals: string[] = []
  const ask = async ({ path, body }: Kind, key: string, text: string, stayMs?: number) => {
    const leaver = new AbortController()
    const timer = stayMs === undefined ? undefined : setTimeout(() => leaver.abort(), stayMs)
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const init = { method: 'POST', headers, body: JSON.stringify(body(text)) }
    try {
      const response = await fetch(url + path, { ...init, signal: leaver.signal })
      const answer = await response.text()
      seen.answered++
      if (!response.ok || answer.includes('"isError":true')) refusals.push(answer.slice(0, 300))
    } catch {
      seen.left++
    }
    clearTimeout(timer)
  }
  const keys = await Promise.all(kinds.map(() => createKey(target, accountId, { budget })))
  const begunAt = performance.now()
  await Promise.all(kinds.map((kind, at) => ask(kind, keys[at]!.key, `${seed} ${at} first`)))
  const callMs = performance.now() - begunAt
  for (let round = 0; round < rounds[dose]; round++) {
    const calls = kinds.flatMap((kind, at) =>
      Array.from({ length: callers }, (_, caller) => {
        const text = `${seed} ${round} ${at} ${caller}`
        return ask(kind, keys[at]!.key, text, chance.below(Math.ceil(2 * callMs)))
      }),
    )
    await Promise.all(calls)
    await untilOver(dataDir)
  }
  const rows = rowsOf(
    dataDir,
    `select model, outcome, cost_status status from usage where account_id = '${accountId}'
     and not (cost_status = 'exact' and cost_nano_usd = 0)`,
  )
  const sent = (route: string) => sentFor(route) - before.get(route)!
  const faults = [...rowFaults(rows, sent), ...refusals, ...ledgerFaults(dataDir)]
  await target.stop()
  const failures = faults.map((what) => ({ what, request: '' }))
  return { tried: seen.left, failures, figures: { ...seen, rows: rows.length } }
}

/** Waits until pending calls have ended: the store has no new rows and no reservations. */
async function untilOver(dataDir: string): Promise<void> {
  let last = -1
  const isOver = async () => {
    await sleep(quietMs)
    const { length } = rowsOf(dataDir, 'select id from usage')
    const isQuiet = length === last && reservationsIn(dataDir) === 0
    last = length
    return isQuiet
  }
  await until('all calls are over', isOver, settledMs)
}

/** Each request to the provider needs a row with a cost; calls without streaming must complete. */
function rowFaults(rows: ReturnType<typeof rowsOf>, sent: (route: string) => number): string[] {
  return Object.entries(routes).flatMap(([model, [route]]) => {
    const own = rows.filter((row) => row['model'] === model)
    const asked = sent(route!)
    const broken = own.filter(({ outcome, status }) => outcome !== 'ok' || status === 'unknown')
    const faults: string[] = []
    if (own.length !== asked)
      faults.push(`${model}: ${asked} requests, ${own.length} rows with a cost.`)
    if (broken.length > 0 && model !== streamModel) {
      faults.push(`${model}: ${broken.length} calls did not complete.`)
    }
    return faults
  })
}
