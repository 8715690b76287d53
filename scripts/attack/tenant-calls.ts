import fc from 'fast-check'
import type { Target } from './target.ts'

/** An account of its own with two keys, and all that it asked and was given. */
export type Tenant = {
  accountId: string
  keys: readonly string[]
  /** Reads what belongs to the account. */
  adminKey: string
  requestsPerMinute: number
  /** Calls that were begun. */
  begun: number
  requestIds: Set<string>
  /** What was made for an answer alone, with how often it was given. */
  made: Map<string, number>
}

const faces = ['chat', 'stream', 'tool', 'image'] as const

/** One call of a tenant; `name` is the one that it gives the call, if any. */
export type TenantCall = {
  tenant: number
  key: number
  face: (typeof faces)[number]
  question: number
  caching: 'remembered' | 'briefly' | 'never'
  name: number | undefined
}

/** Calls that are often the same, of this many tenants. */
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

/** Makes an account with keys, as whoever operates the gateway does. */
export async function openTenant(
  { command }: Pick<Target, 'command'>,
  name: string,
  requestsPerMinute: number,
): Promise<Tenant> {
  const { id: accountId } = JSON.parse(
    await command('accounts', 'create', '--name', name, '--json'),
  ) as { id: string }
  const create = (label: string, ...more: string[]) =>
    command('keys', 'create', '--account', accountId, '--mode', 'live', '--name', label, ...more)
  const limit = ['--requests-per-minute', String(requestsPerMinute)]
  const [first, second, adminKey] = await Promise.all([
    create('first', ...limit),
    create('second', ...limit),
    create('admin', '--scopes', 'admin'),
  ])
  const keys = [first, second]
  const [requestIds, made] = [new Set<string>(), new Map<string, number>()]
  return { accountId, keys, adminKey, requestsPerMinute, begun: 0, requestIds, made }
}

/** Sends a call. The answer of the double holds what it made for this answer alone. */
export function send(url: string, { keys }: Tenant, call: TenantCall, topic: string) {
  const { key, face, question, caching, name } = call
  const prompt = `${topic} ${question}`
  const chat = { model: 'own/unique', messages: [{ role: 'user', content: prompt }] }
  // A name stands for one request, as long as its caller uses it rightly.
  const named = name === undefined ? undefined : `${topic}-${face}-${question}-${caching}-${name}`
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${keys[key]}`,
    ...cacheHeaders[caching],
    ...(named === undefined || face === 'tool' ? {} : { 'idempotency-key': named }),
  }
  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (face === 'image') return post('/v1/images/generations', { model: 'own/unique', prompt })
  if (face !== 'tool') {
    return post('/v1/chat/completions', { ...chat, stream: face === 'stream' })
  }
  const params = { name: 'chat', arguments: chat }
  return post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
}

const cacheHeaders: Record<TenantCall['caching'], Record<string, string>> = {
  remembered: {},
  briefly: { 'x-gateway-cache-ttl': '1' },
  never: { 'cache-control': 'no-store' },
}
