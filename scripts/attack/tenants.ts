import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { openMessageStream, type MessageStream } from '../../test/support/message-stream.ts'
import { everyOne, shown } from './administration.ts'
import type { Attack, Context, Failure, Outcome } from './attack.ts'
import { createPool } from './pool.ts'
import { callsOf, openTenant, send, type Tenant, type TenantCall } from './tenant-calls.ts'

const calls = { full: 10_000, quick: 400 }
const concurrent = 48

/**
 * Two accounts with two keys each ask the same things at once, remembered, joined and repeated under
 * the same names: what one of them is given, is charged and is told is never the other's.
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
  // Questions that no earlier run has asked.
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
  const told = both.flatMap((tenant, index) => eventFaults(tenant, streams[index]!))
  for (const { leave } of streams) leave()
  const kept = await Promise.all(
    both.map((tenant, index) => rowFaults(url, tenant, both[1 - index]!)),
  )
  const whats = [...sharedFaults(both), ...told, ...kept.flat()]
  const byTenant = (count: (tenant: Tenant) => number) => both.map(count).join(' and ')
  return {
    tried: drawn.length,
    failures: [...failures, ...whats.map((what) => ({ what, request: '' }))],
    figures: {
      'answers given again': byTenant(givenAgain),
      'by their name': byTenant(({ replayed }) => replayed),
      rows: byTenant(({ recordedIds }) => recordedIds.size),
    },
  }
}

/** Asks, and says what is wrong with the answer by itself. */
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
  if (status !== 200) return [`A tenant is told ${status}: ${text.slice(0, 300)}`]
  const made = /made-([0-9a-f-]{36})/.exec(text)?.[1]
  if (made === undefined)
    return [`The face ${call.face} gives nothing that was made: ${text.slice(0, 300)}`]
  tenant.made.set(made, (tenant.made.get(made) ?? 0) + 1)
  if (headers.has('idempotent-replayed') || text.includes('"idempotentReplayed":true')) {
    tenant.replayed++
    return []
  }
  tenant.recordedIds.add(requestId)
  return call.face === 'tool' ? [] : limitFaults(tenant, call, headers)
}

/** Whether the limits are the account's and the key's own, and count what they asked alone. */
function limitFaults(tenant: Tenant, { key }: TenantCall, headers: Headers): string[] {
  const [policy, state] = ['ratelimit-policy', 'ratelimit'].map((name) => headers.get(name) ?? '')
  const begun = tenant.keys.reduce((sum, one) => sum + one.begun, 0)
  const owners = { account: { ...tenant, begun }, key: tenant.keys[key]! }
  return Object.entries(owners).flatMap(([owner, { requestsPerMinute: limit, begun: asked }]) => {
    const told = numberOf(policy!, `"requests-per-${owner}";q=`)
    const left = numberOf(state!, `"requests-per-${owner}";r=`)
    if (told !== limit) return [`The ${owner} of a tenant has the limit ${told}, not ${limit}.`]
    if (left >= limit - asked && left < limit) return []
    return [`The ${owner} of a tenant has ${left} of ${limit} requests left, after ${asked}.`]
  })
}

function numberOf(header: string, name: string): number {
  const [, rest = ''] = header.split(name)
  return Number.parseInt(rest, 10)
}

/** What both were given, and whether an account shares with itself: without that nothing is seen. */
function sharedFaults(both: readonly Tenant[]): string[] {
  const [first, second] = both as [Tenant, Tenant]
  const shared = [...first.made.keys()].filter((made) => second.made.has(made))
  const named = [...first.requestIds].filter((id) => second.requestIds.has(id))
  return [
    ...shared.map(() => 'Both accounts were given one answer.'),
    ...named.map(() => 'Both accounts were given one request id.'),
    ...both.filter((tenant) => givenAgain(tenant) === 0).map(() => 'Nothing was given again.'),
    ...both.filter(({ replayed }) => replayed === 0).map(() => 'No name led to its answer.'),
  ]
}

function givenAgain({ made }: Tenant): number {
  return [...made.values()].reduce((sum, times) => sum + times - 1, 0)
}

/** Follows what the tool server tells an account. */
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
  const told = stream.messages().flatMap(({ params }) => {
    const { requestId } = Object(params?.['data']) as { requestId?: string }
    return requestId === undefined ? [] : [requestId]
  })
  if (told.length === 0) return ['An account is told nothing of its calls.']
  const strange = told.filter((id) => !requestIds.has(id))
  return strange.map((id) => `An account is told of the call ${id}, which is not its own.`)
}

type UsageReport = { total: { calls: number } }

/** Whether the account sees the rows of its calls, counted once, and none of the other's. */
async function rowFaults(url: string, tenant: Tenant, other: Tenant): Promise<string[]> {
  const { adminKey, recordedIds, accountId } = tenant
  const rows = await everyOne<{ id: string }>(url, '/api/requests', adminKey)
  const ids = new Set(rows.map(({ id }) => id))
  const strange = rows.filter(({ id }) => !recordedIds.has(id))
  const lost = [...recordedIds].filter((id) => !ids.has(id))
  const { total } = await shown<UsageReport>(url, '/api/usage', adminKey)
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
    ...strange.map(({ id }) => `An account has the row of the call ${id}, which is not its own.`),
    ...lost.map((id) => `An account has no row of its call ${id}.`),
    ...(rows.length === ids.size ? [] : ['A row is listed twice.']),
    ...(total.calls === rows.length
      ? []
      : [`The usage of ${accountId} has ${total.calls} calls in place of ${rows.length}.`]),
    ...statuses.flat(),
  ]
}
