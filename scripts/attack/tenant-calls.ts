import fc from 'fast-check'
import { createAccount, createKey } from './administration.ts'
import type { Target } from './target.ts'

/** A key of a tenant, and the number of calls begun with it. */
type TenantKey = { key: string; requestsPerMinute: number; begun: number }

/** An account with two keys, and the results of its calls. */
export type Tenant = {
  accountId: string
  keys: readonly TenantKey[]
  /** The key that reads the usage and the requests of the account. */
  adminKey: string
  requestsPerMinute: number
  /** Request ids of all answers. */
  requestIds: Set<string>
  /** Request ids of new and cached answers. Each of these answers has a row. */
  recordedIds: Set<string>
  /** Unique ids in answers, with the number of answers that contained each id. */
  made: Map<string, number>
  /** The number of answers that were replayed because of an idempotency key. */
  replayed: number
}

const faces = ['chat', 'stream', 'tool', 'image'] as const

/** One call of a tenant; `name` selects its idempotency key, if any. */
export type TenantCall = {
  tenant: number
  key: number
  face: (typeof faces)[number]
  question: number
  caching: 'remembered' | 'briefly' | 'never'
  name: number | undefined
}

/** Random calls of this many tenants; many of the calls are equal. */
export function callsOf(tenants: number): fc.Arbitrary<TenantCall> {
  return fc.record({
    tenant: fc.nat(tenants - 1),
    key: fc.nat(1),
    face: fc.constantFrom(...faces),
    question: fc.nat(7),
    caching: fc.constantFrom('remembered', 'briefly', 'never'),
    name: fc.option(fc.nat(3), { nil: undefined, freq: 3 }),
  })
}

/** Makes an account with keys. All limits differ, so that headers show which limit applies. */
export async function openTenant(target: Target, limits: readonly number[]): Promise<Tenant> {
  const [requestsPerMinute, ...ofKeys] = limits as [number, ...number[]]
  const limited = (requests_per_minute: number) => ({ limits: { requests_per_minute } })
  const body = { name: 'tenant', ...limited(requestsPerMinute) }
  const accountId = await createAccount(target, body)
  const keys = await Promise.all(
    ofKeys.map(async (limit) => {
      const { key } = await createKey(target, accountId, limited(limit))
      return { key, requestsPerMinute: limit, begun: 0 }
    }),
  )
  const { key: adminKey } = await createKey(target, accountId, { scopes: ['admin'] })
  return {
    accountId,
    keys,
    adminKey,
    requestsPerMinute,
    requestIds: new Set(),
    recordedIds: new Set(),
    made: new Map(),
    replayed: 0,
  }
}

/** Sends a call; the double's answer has a unique id. */
export function send(url: string, { keys }: Tenant, call: TenantCall, topic: string) {
  const { key, face, question, caching, name } = call
  const prompt = `${topic} ${question}`
  const chat = { model: 'own/unique', messages: [{ role: 'user', content: prompt }] }
  // An idempotency key must always have the same request.
  const named = name === undefined ? undefined : `${topic}-${face}-${question}-${caching}-${name}`
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${keys[key]!.key}`,
    ...cacheHeaders[caching],
    ...(named === undefined || face === 'tool' ? {} : { 'idempotency-key': named }),
  }
  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (face === 'image') return post('/v1/images/generations', { model: 'own/unique', prompt })
  if (face !== 'tool') {
    return post('/v1/chat/completions', { ...chat, stream: face === 'stream' })
  }
  const meta = named === undefined ? {} : { _meta: { idempotencyKey: named } }
  const params = { name: 'chat', arguments: chat, ...meta }
  return post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
}

const cacheHeaders: Record<TenantCall['caching'], Record<string, string>> = {
  remembered: {},
  briefly: { 'x-gateway-cache-ttl': '1' },
  never: { 'cache-control': 'no-store' },
}
