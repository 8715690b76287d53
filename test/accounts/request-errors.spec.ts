import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import type { UsageTable } from '../../src/storage/tables.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { usageRow } from '../support/usage-row.ts'

type Errors = components['schemas']['RequestErrors']
type List = components['schemas']['RequestRecordList']

const at = Date.parse('2026-11-20T12:00:00Z')
const idAt = (index: number) =>
  `req_${(at + index).toString(16).padStart(12, '0')}${String(index).padStart(20, '0')}`
const attempts = (...tries: [provider: string, outcome: string][]) =>
  JSON.stringify(
    tries.map(([provider, outcome], index) => ({
      provider,
      upstreamModel: 'm',
      outcome,
      startMs: index * 10,
      durationMs: 10,
    })),
  )
const limited: Partial<UsageTable> = {
  outcome: 'failed',
  error_code: 'rate_limit_exceeded',
  attempts: attempts(['anthropic', 'overloaded'], ['openai', 'rate_limited']),
}

forEachStore('failed and cached calls', () => {
  let gateway: TestGateway
  let accountId: string
  let key: string
  before(async () => {
    gateway = await startGateway()
    accountId = await gateway.createAccount()
    key = await gateway.createKey('live', { accountId, scopes: ['usage:read'] })
    const more: Partial<UsageTable>[] = [
      limited,
      limited,
      { ...limited, model: 'n', key_id: 'key_2' },
      { outcome: 'failed', error_code: 'timeout', attempts: attempts(['openai', 'timeout']) },
      // A stream that broke off after a successful attempt.
      { outcome: 'failed', error_code: 'provider_error', attempts: attempts(['openai', 'ok']) },
      { outcome: 'failed', error_code: 'a_code_of_another_version', attempts: '[]' },
      { outcome: 'cancelled', error_code: 'timeout', attempts: attempts(['openai', 'cancelled']) },
      { ...limited, mode: 'test' },
      { ...limited, account_id: 'acc_else' },
      { cache: 'hit', saved_nano_usd: 5 },
      { attempts: attempts(['openai', 'ok']) },
    ]
    const rows = more.map((one, index) => ({
      ...usageRow(idAt(index), at + index),
      account_id: accountId,
      mode: 'live',
      ...one,
    }))
    await gateway.addUsage(rows)
  })
  after(() => gateway.stop())

  const get = async <Body>(path: string, query: Record<string, string>): Promise<Body> => {
    const response = await gateway.fetch(`${path}?${new URLSearchParams(query).toString()}`, {
      key,
    })
    expect(response.status, await response.clone().text()).to.equal(200)
    return (await response.json()) as Body
  }
  const range = { from: '2026-11-20', to: '2026-11-21' }
  const errors = (query: Record<string, string> = {}) =>
    get<Errors>('/api/requests/errors', { ...range, ...query })
  const ids = async (query: Record<string, string>) =>
    (await get<List>('/api/requests', query)).data.map(({ id }) => id)

  it('are counted by cause, the most frequent first, with meaning and remedy', async () => {
    const { data, has_more: hasMore, ...head } = await errors()
    expect(hasMore).to.equal(false)
    expect(head).to.include({ object: 'request_errors', account_id: accountId, mode: 'live' })
    expect(data[0]).to.deep.equal({
      object: 'request_error',
      error_code: 'rate_limit_exceeded',
      failed_provider: 'openai',
      failure: 'rate_limited',
      meaning: 'The provider limits the rate of requests.',
      remedy:
        'Wait as long as Retry-After says and try again; ask for a higher limit if this happens often.',
      calls: 3,
      last_at: new Date(at + 2).toISOString(),
      last_request_id: idAt(2),
    })
    const shown = data.map((one) => [one.error_code, one.failed_provider, one.failure, one.calls])
    expect(shown).to.deep.equal([
      ['rate_limit_exceeded', 'openai', 'rate_limited', 3],
      ['a_code_of_another_version', null, null, 1],
      ['provider_error', null, null, 1],
      ['timeout', 'openai', 'timeout', 1],
    ])
    expect(data[1]).to.include({ meaning: null, remedy: null })
  })

  it('are filtered by model, key, time and mode', async () => {
    const counts = async (query: Record<string, string>) =>
      (await errors(query)).data.map(({ calls }) => calls)
    expect(await counts({ model: 'n' })).to.deep.equal([1])
    expect(await counts({ key_id: 'key_2' })).to.deep.equal([1])
    expect(await counts({ mode: 'test' })).to.deep.equal([1])
    const to = new Date(at + 2).toISOString()
    expect(await counts({ to })).to.deep.equal([2])
    expect(await counts({ member: `usr_${'0'.repeat(32)}` })).to.deep.equal([])
  })

  it('are listed in the number that each cause counts', async () => {
    const cause = { error_code: 'rate_limit_exceeded', failed_provider: 'openai', mode: 'live' }
    expect(await ids({ ...cause, failure: 'rate_limited' })).to.deep.equal([2, 1, 0].map(idAt))
    expect(await ids({ failed_provider: 'anthropic' })).to.deep.equal([])
    expect(await ids({ failure: 'timeout' })).to.deep.equal([idAt(3)])
  })

  it('are exported as the list shows them with the same filters', async () => {
    for (const [filter, count] of [
      [{ error_code: 'rate_limit_exceeded' }, 3],
      [{ error_code: 'rate_limit_exceeded', outcome: 'failed', model: 'm' }, 2],
      [{ failed_provider: 'openai', failure: 'timeout' }, 1],
      [{ failed_provider: 'anthropic' }, 0],
      [{ cache: 'hit' }, 1],
      [{ cost_above_usd: '0.1' }, 0],
      [{ outcome: 'failed' }, 6],
    ] as const) {
      const query = { ...range, mode: 'live', ...filter }
      const listed = await get<List>('/api/requests', query)
      const exported = await get<List>('/api/requests/export', query)
      expect(exported.data, JSON.stringify(filter)).to.have.length(count)
      expect(exported.data).to.deep.equal(listed.data)
    }
  })

  it('refuse an invalid filter by its name', async () => {
    for (const [path, param] of [
      ['/api/requests?failure=strange', 'failure'],
      ['/api/requests?cache=maybe', 'cache'],
      ['/api/requests/export?cost_above_usd=much', 'cost_above_usd'],
      ['/api/requests/errors?from=yesterday', 'from'],
    ]) {
      const response = await gateway.fetch(path!, { key })
      await expectError(response, { status: 400, code: 'invalid_value', param: param! })
    }
  })

  it('need the scope to read usage', async () => {
    const other = await gateway.createKey('live', { accountId, scopes: ['inference'] })
    const response = await gateway.fetch('/api/requests/errors', { key: other })
    await expectError(response, { status: 403, code: 'insufficient_scope' })
  })

  it('explain each attempt, and why the next one was made', async () => {
    const { data } = await get<List>('/api/requests', { error_code: 'rate_limit_exceeded' })
    const [call] = data
    expect(call!.remedy).to.include('Retry-After')
    expect(call!.attempts.map((one) => [one.start_ms, one.explanation])).to.deep.equal([
      [0, 'The provider failed, or was overloaded. openai was tried next.'],
      [10, 'The provider limits the rate of requests. No further attempt was made.'],
    ])
  })

  it('show the cost that the cache saved', async () => {
    const { data } = await get<List>('/api/requests', { cache: 'hit' })
    expect(data.map(({ cost }) => cost.saved)).to.deep.equal([{ usd: '0.000000005', nano_usd: 5 }])
  })
})
