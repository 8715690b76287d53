import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from '../../test/support/chance.ts'
import { readChunks } from '../../test/support/event-stream.ts'
import { createAccount, createKey } from './administration.ts'
import type { Target } from './target.ts'

/** An account with a budget, and its keys. */
export type Payer = { accountId: string; keys: readonly string[]; adminKey: string }

/** The request id and the reported cost of a complete answer. */
export type Receipt = {
  requestId: string
  kind: string
  /** Undefined when the answer reports no cost. */
  costUsd: number | null | undefined
  /** The idempotency key of the request. */
  name: string | undefined
}

/** Results of all callers: receipts, statuses, cut connections and calls that callers aborted. */
export type Seen = { receipts: Receipt[]; statuses: Map<number, number>; cut: number; left: number }

/** Routes of the models to the operator's server, which may be slow or fail. */
export const routes = {
  'gpt-5-mini': ['own/house-1'],
  'gpt-5-nano': ['own/unique'],
  'gpt-5.2': ['own/broken-off'],
  'claude-sonnet-4-6': ['own/silent-stream'],
  'alibaba/qwen-image-2.0': ['own/house-1'],
}

/** Makes an account whose calls exceed its budget and that of one key. */
export async function openPayer(target: Target): Promise<Payer> {
  const budget = (usd: string, period: string) => ({ budget: { usd, period } })
  const accountId = await createAccount(target, { name: 'payer', ...budget('3', 'month') })
  const keys = await Promise.all([
    createKey(target, accountId, budget('2', 'total')),
    createKey(target, accountId, { ...budget('0.5', 'day'), limits: { concurrency: 3 } }),
    createKey(target, accountId, { limits: { requests_per_minute: 60 } }),
  ])
  const { key: adminKey } = await createKey(target, accountId, { scopes: ['admin'] })
  return { accountId, keys: keys.map(({ key }) => key), adminKey }
}

type Call = {
  kind: string
  path: string
  body: object
  headers: Record<string, string>
  name: string | undefined
  leavesAfterMs: number | undefined
}

type Asking = { url: string; key: string; account: number; run: string; chance: Chance; seen: Seen }

/** Sends one request after another until the server no longer answers. */
export async function askUntilGone(asking: Asking, onAnswer: () => void): Promise<void> {
  const { url, key, seen, chance } = asking
  for (;;) {
    const call = nextCall(asking, chance)
    const leaving = new AbortController()
    const { path, headers, body, leavesAfterMs } = call
    if (leavesAfterMs !== undefined) void sleep(leavesAfterMs).then(() => leaving.abort())
    try {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...headers },
        body: JSON.stringify(body),
        signal: leaving.signal,
      })
      const text = await response.text()
      const { status } = response
      seen.statuses.set(status, (seen.statuses.get(status) ?? 0) + 1)
      const receipt = receiptOf(call, response, text)
      if (receipt !== undefined) seen.receipts.push(receipt)
      // Pauses after a refusal, because refusals are fast and this attack does not examine them.
      if (status !== 200) await sleep(20)
    } catch {
      if (!leaving.signal.aborted) return void seen.cut++
      seen.left++
    }
    onAnswer()
  }
}

const chatPath = '/v1/chat/completions'
const chatModels = ['gpt-5-mini', 'gpt-5-mini', 'gpt-5-nano', 'gpt-5-nano', 'gpt-5.2']

function nextCall({ account, run }: Asking, chance: Chance): Call {
  const kind = ['chat', 'chat', 'stream', 'stream', 'image', 'tool', 'silent'][chance.below(7)]!
  const isNamed = chance.below(2) === 0 && kind !== 'silent'
  // Calls with an idempotency key have only three questions, so that keys repeat.
  const question = chance.below(isNamed ? 3 : 12)
  const model = chatModels[chance.below(chatModels.length)]!
  const name = isNamed ? `${run}-${kind}-${model}-${question}` : undefined
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(chance.below(2) === 0 && { 'cache-control': 'no-store' }),
    ...(name !== undefined && kind !== 'tool' && { 'idempotency-key': name }),
  }
  const isLeft = kind === 'silent' || chance.below(8) === 0
  const leavesAfterMs = isLeft ? 5 + chance.below(300) : undefined
  const common = { kind, headers, leavesAfterMs, name: name && `${account} ${name}` }
  const content = `${run} ${question}`
  const messages = [{ role: 'user', content }]
  const chat = { model, messages, max_completion_tokens: 2000 }
  if (kind === 'image') {
    const body = { model: 'alibaba/qwen-image-2.0', prompt: content, size: '512x512' }
    // An idempotency key must always have the same body.
    return { ...common, path: '/v1/images/generations', body: { ...body, n: 1 + (question % 3) } }
  }
  if (kind === 'tool') {
    const meta = name === undefined ? {} : { _meta: { idempotencyKey: name } }
    const params = { name: 'chat', arguments: { model, messages, max_tokens: 2000 }, ...meta }
    return {
      ...common,
      path: '/mcp',
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    }
  }
  if (kind === 'chat') return { ...common, path: chatPath, body: chat }
  const streamed = { ...chat, stream: true, stream_options: { include_usage: true } }
  const body = kind === 'stream' ? streamed : { ...streamed, model: 'claude-sonnet-4-6' }
  return { ...common, path: chatPath, body }
}

/** The receipt of a complete, charged answer; undefined for other answers. */
function receiptOf(
  { kind, name }: Call,
  { status, headers }: Response,
  text: string,
): Receipt | undefined {
  if (status !== 200 || text.includes('"isError":true')) return undefined
  const isEvents = headers.get('content-type')!.startsWith('text/event-stream')
  if (kind === 'stream' || kind === 'silent') {
    if (!isEvents || !text.endsWith('data: [DONE]\n\n')) return undefined
    const costUsd = readChunks(text).at(-1)?.usage?.cost
    return { requestId: headers.get('x-request-id')!, kind, costUsd, name }
  }
  // A tool prints its cost as `for $0.04`, `at no cost` or `at an unknown cost`.
  const printed = /"cost":([\d.e-]+)|\bfor \$(\d+(?:\.\d+)?)|at (no) cost/.exec(text) ?? []
  const [, member, amount, none] = printed
  const isUnknown = /"cost":null|at an unknown cost/.test(text)
  const known = Number(none === undefined ? (member ?? amount ?? Number.NaN) : 0)
  const costUsd = isUnknown ? null : Number.isNaN(known) ? undefined : known
  // A replayed tool call reports the request id of the first call.
  const [, first] = /"idempotentReplayed":true,"requestId":"(req_\w+)"/.exec(text) ?? []
  const requestId = first ?? headers.get('x-request-id')!
  return { requestId, kind, costUsd, name }
}

/** A word that makes the questions of a run unique. */
export function newRun(): string {
  return randomUUID()
}
