import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { openMessageStream, type MessageStream } from '../../test/support/message-stream.ts'
import { allItems, fetchJson } from './administration.ts'
import type { Attack, Context, Failure, Outcome } from './attack.ts'
import { createPool } from './pool.ts'
import { callsOf, openTenant, send, type Tenant, type TenantCall } from './tenant-calls.ts'

const calls = { full: 10_000, quick: 400 }
const concurrent = 48

/**
 * Two accounts with two keys each send the same requests at once, with caching and the same idempotency
 * keys: neither may get the answers, charges or events of the other.
 */
export const tenants: Attack = { name: 'tenants', isDrawn: true, run }

async function run({ target, seed, dose }: Context): Promise<Outcome> {
  const both = await Promise.all([
    openTenant(target, [900_001, 800_001, 800_002]),
    openTenant(target, [900_002, 800_003, 800_004]),
  ])
  const { url } = target
  const streams = await Promise.all(both.map((tenant) => listen(url, tenant)))
  const drawn = fc.sample(callsOf(both.length), { seed, numRuns: calls[dose] })
  const pool = createPool(Array.from({ length: concurrent }, (_, index) => index))
  // Makes the questions of this run unique.
  const topic = randomUUID()
  const failures: Failure[] = []
  for (const call of drawn) {
    await pool.run(async () => {
      const tenant = both[call.tenant]!
      for (const what of await callFaults(url, tenant, call, topic))
        failures.push({ what, request: JSON.stringify(call) })
    })
  }
  await pool.idle()
  const overheard = both.flatMap((tenant, index) => eventFaults(tenant, streams[index]!))
  for (const { leave } of streams) leave()
  const kept = await Promise.all(
    both.map((tenant, index) => rowFaults(url, tenant, both[1 - index]!)),
  )
  const whats = [...sharedFaults(both), ...overheard, ...kept.flat()]
  const byTenant = (count: (tenant: Tenant) => number) => both.map(count).join(' and ')
  return {
    tried: drawn.length,
    failures: [...failures, ...whats.map((what) => ({ what, request: '' }))],
    figures: {
      'repeated answers': byTenant(repeatedAnswers),
      replayed: byTenant(({ replayed }) => replayed),
      rows: byTenant(({ recordedIds }) => recordedIds.size),
    },
  }
}

/** Sends a call; returns what is wrong with its answer. */
async function callFaults(
  url: string,
  tenant: Tenant,
  call: TenantCall,
  topic: string,
): Promise<string[]> {
  tenant.keys[call.key]!.begun++
  const response = await send(url, tenant, call, topic)
  const text = await response.text()
  const { status, headers } = response
  const requestId = headers.get('x-request-id') ?? ''
  tenant.requestIds.add(requestId)
  const isInUse = text.includes('is still being answered')
  if (isInUse) return []
  if (status !== 200) return [`A tenant gets status ${status}: ${text.slice(0, 300)}`]
  const made = /made-([0-9a-f-]{36})/.exec(text)?.[1]
  if (made === undefined)
    return [`The answer of ${call.face} has no unique id: ${text.slice(0, 300)}`]
  tenant.made.set(made, (tenant.made.get(made) ?? 0) + 1)
  if (headers.has('idempotent-replayed') || text.includes('"idempotentReplayed":true')) {
    tenant.replayed++
    return []
  }
  tenant.recordedIds.add(requestId)
  return call.face === 'tool' ? [] : limitFaults(tenant, call, headers)
}

/** Checks that rate limit headers show limits and calls of this account and this key only. */
function limitFaults(tenant: Tenant, { key }: TenantCall, headers: Headers): string[] {
  const [policy, state] = ['ratelimit-policy', 'ratelimit'].map((name) => headers.get(name) ?? '')
  const begun = tenant.keys.reduce((sum, one) => sum + one.begun, 0)
  const owners = { account: { ...tenant, begun }, key: tenant.keys[key]! }
  return Object.entries(owners).flatMap(([owner, { requestsPerMinute: limit, begun: asked }]) => {
    const shownLimit = numberOf(policy!, `"requests-per-${owner}";q=`)
    const left = numberOf(state!, `"requests-per-${owner}";r=`)
    if (shownLimit !== limit)
      return [`The ${owner} of a tenant has the limit ${shownLimit}, not ${limit}.`]
    if (left >= limit - asked && left < limit) return []
    return [`The ${owner} of a tenant has ${left} of ${limit} requests left, after ${asked}.`]
  })
}

function numberOf(header: string, name: string): number {
  const [, rest = ''] = header.split(name)
  return Number.parseInt(rest, 10)
}

/** Faults: answers that both accounts received, and, as a control, an account without repeated answers. */
function sharedFaults(both: readonly Tenant[]): string[] {
  const [first, second] = both as [Tenant, Tenant]
  const shared = [...first.made.keys()].filter((made) => second.made.has(made))
  const named = [...first.requestIds].filter((id) => second.requestIds.has(id))
  return [
    ...shared.map(() => 'Both accounts got the same answer.'),
    ...named.map(() => 'Both accounts got the same request id.'),
    ...both
      .filter((tenant) => repeatedAnswers(tenant) === 0)
      .map(() => 'No cached answer was repeated.'),
    ...both
      .filter(({ replayed }) => replayed === 0)
      .map(() => 'No idempotency key replayed its answer.'),
  ]
}

function repeatedAnswers({ made }: Tenant): number {
  return [...made.values()].reduce((sum, times) => sum + times - 1, 0)
}

/** Opens an event stream of the tool server for the account. */
async function listen(url: string, { keys }: Tenant): Promise<MessageStream> {
  const authorization = `Bearer ${keys[0]!.key}`
  const accept = 'application/json, text/event-stream'
  const level = { jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'debug' } }
  await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { authorization, accept, 'content-type': 'application/json' },
    body: JSON.stringify(level),
  })
  return openMessageStream((signal) =>
    fetch(`${url}/mcp`, { headers: { authorization, accept: 'text/event-stream' }, signal }),
  )
}

function eventFaults({ requestIds }: Tenant, stream: MessageStream): string[] {
  const ids = stream.messages().flatMap(({ params }) => {
    const { requestId } = Object(params?.['data']) as { requestId?: string }
    return requestId === undefined ? [] : [requestId]
  })
  if (ids.length === 0) return ['An account gets no events of its calls.']
  const strange = ids.filter((id) => !requestIds.has(id))
  return strange.map((id) => `An account gets an event of the call ${id} of another account.`)
}

type UsageReport = { total: { calls: number } }

/** Checks that the account sees each of its calls once, and no call of the other account. */
async function rowFaults(url: string, tenant: Tenant, other: Tenant): Promise<string[]> {
  const { adminKey, recordedIds, accountId } = tenant
  const rows = await allItems<{ id: string }>(url, '/api/requests', adminKey)
  const ids = new Set(rows.map(({ id }) => id))
  const strange = rows.filter(({ id }) => !recordedIds.has(id))
  const lost = [...recordedIds].filter((id) => !ids.has(id))
  const { total } = await fetchJson<UsageReport>(url, '/api/usage', adminKey)
  const [foreign = ''] = other.recordedIds
  const asked = [
    `/api/requests/${foreign}`,
    `/api/requests?account_id=${other.accountId}`,
    `/api/usage?account_id=${other.accountId}`,
    `/api/accounts/${other.accountId}`,
  ]
  const statuses = await Promise.all(
    asked.map(async (path) => {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${adminKey}` } })
      await answer.body?.cancel()
      return answer.status === 404 ? [] : [`${path} answers another account with ${answer.status}.`]
    }),
  )
  return [
    ...strange.map(({ id }) => `An account sees the row of the call ${id} of another account.`),
    ...lost.map((id) => `An account has no row of its call ${id}.`),
    ...(rows.length === ids.size ? [] : ['A row is listed twice.']),
    ...(total.calls === rows.length
      ? []
      : [`The usage of ${accountId} has ${total.calls} calls instead of ${rows.length}.`]),
    ...statuses.flat(),
  ]
}
