import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { openMessageStream, type MessageStream } from '../../test/support/message-stream.ts'
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
    openTenant(target, 'first', 900_001),
    openTenant(target, 'second', 700_001),
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
  const kept = await Promise.all(both.map((tenant) => rowFaults(url, tenant)))
  const whats = [...sharedFaults(both), ...told, ...kept.flat()]
  return {
    tried: drawn.length,
    failures: [...failures, ...whats.map((what) => ({ what, request: '' }))],
    figures: { 'answers given again': both.map(givenAgain).join(' and ') },
  }
}

/** Asks, and says what is wrong with the answer by itself. */
async function callFaults(
  url: string,
  tenant: Tenant,
  call: TenantCall,
  topic: string,
): Promise<string[]> {
  tenant.begun++
  const response = await send(url, tenant, call, topic)
  const text = await response.text()
  const { status, headers } = response
  tenant.requestIds.add(headers.get('x-request-id') ?? '')
  const isInUse = status === 409 && text.includes('idempotency_key_in_use')
  if (isInUse) return []
  if (status !== 200) return [`A tenant is told ${status}: ${text.slice(0, 300)}`]
  const made = /made-([0-9a-f-]{36})/.exec(text)?.[1]
  if (made === undefined) return [`An answer of the face ${call.face} has nothing that was made.`]
  tenant.made.set(made, (tenant.made.get(made) ?? 0) + 1)
  return call.face === 'tool' ? [] : limitFaults(tenant, headers)
}

/** Whether the limit is the key's own, and counts no more than what its account asked. */
function limitFaults({ requestsPerMinute: limit, begun }: Tenant, headers: Headers): string[] {
  const told = Number(headers.get('x-ratelimit-limit-requests'))
  const left = Number(headers.get('x-ratelimit-remaining-requests'))
  if (told !== limit) return [`A tenant is told the limit ${told}, which is ${limit}.`]
  return left < limit - begun ? [`A tenant has ${left} requests left, after ${begun} calls.`] : []
}

/** What both were given, and whether an account shares with itself: without that nothing is seen. */
function sharedFaults(both: readonly Tenant[]): string[] {
  const [first, second] = both as [Tenant, Tenant]
  const shared = [...first.made.keys()].filter((made) => second.made.has(made))
  return [
    ...shared.map(() => 'Both accounts were given one answer.'),
    ...both.filter((tenant) => givenAgain(tenant) === 0).map(() => 'Nothing was given again.'),
  ]
}

function givenAgain({ made }: Tenant): number {
  return [...made.values()].reduce((sum, times) => sum + times - 1, 0)
}

/** Follows what the tool server tells an account. */
async function listen(url: string, { keys }: Tenant): Promise<MessageStream> {
  const authorization = `Bearer ${keys[0]}`
  const level = { jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'debug' } }
  await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
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
  const strange = told.filter((id) => !requestIds.has(id))
  return strange.map((id) => `An account is told of the call ${id}, which is not its own.`)
}

type RequestPage = { data: { id: string }[]; next_cursor: string | null }

/** Whether the account sees the rows of its calls, and no other. */
async function rowFaults(url: string, { adminKey, requestIds }: Tenant): Promise<string[]> {
  const strange: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const more: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const answer = await fetch(`${url}/api/requests?limit=100${more}`, {
      headers: { authorization: `Bearer ${adminKey}` },
    })
    if (answer.status !== 200) return [`GET /api/requests answers ${answer.status}.`]
    const page = (await answer.json()) as RequestPage
    strange.push(...page.data.map(({ id }) => id).filter((id) => !requestIds.has(id)))
    cursor = page.next_cursor
  }
  return strange.map((id) => `An account has the row of the call ${id}, which is not its own.`)
}
