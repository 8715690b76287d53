import { expect } from 'chai'
import fc from 'fast-check'
import type { components } from '../../generated/types.ts'
import { moneyOf } from '../../src/core/money/price.ts'
import type { UsageTable } from '../../src/storage/tables.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { usageRow } from '../support/usage-row.ts'
import { forEachStore } from '../support/each-store.ts'

type Report = components['schemas']['UsageReport']
type Group = components['schemas']['UsageGroup']

const hourMs = 3_600_000
const october = Date.parse('2026-10-31T22:00:00Z')

const sumNames = [
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'audio_input_tokens',
  'image_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'audio_output_tokens',
  'image_output_tokens',
  'images',
  'duration_ms',
] as const

const dimensions = [
  'hour',
  'day',
  'month',
  'model',
  'provider',
  'key',
  'face',
  'modality',
  'outcome',
] as const

const oneOf = <T>(...values: T[]) => fc.constantFrom(...values)
const anyRow: fc.Arbitrary<Partial<UsageTable>> = fc.record({
  at: fc.integer({ min: october, max: october + 5 * hourMs }),
  key_id: oneOf('key_1', 'key_2'),
  mode: oneOf('live', 'test'),
  face: oneOf('chat', 'images', 'mcp'),
  modality: oneOf('chat', 'image'),
  model: oneOf('m', 'n', 'o'),
  provider: oneOf(null, 'p', 'q'),
  outcome: oneOf('ok', 'failed', 'cancelled'),
  cache: oneOf('hit', 'miss', 'bypass'),
  cost_nano_usd: fc.option(fc.nat(50)),
  saved_nano_usd: fc.option(fc.nat(50)),
  ...Object.fromEntries(sumNames.map((name) => [name, fc.nat(1000)])),
})

forEachStore('a report of usage', () => {
  let gateway: TestGateway
  let accountId: string
  let key: string
  before(async () => void (gateway = await startGateway()))
  beforeEach(async () => {
    accountId = await gateway.createAccount()
    key = await gateway.createKey('live', { accountId, scopes: ['usage:read'] })
  })
  after(() => gateway.stop())

  const ask = async (query: Record<string, string>): Promise<Report> => {
    const response = await gateway.fetch(`/api/usage?${new URLSearchParams(query).toString()}`, {
      key,
    })
    expect(response.status, await response.clone().text()).to.equal(200)
    return (await response.json()) as Report
  }
  const askAll = async (query: Record<string, string>): Promise<Report & { data: Group[] }> => {
    const first = await ask(query)
    const data = [...first.data]
    for (let page = first; page.has_more; data.push(...page.data)) {
      page = await ask({ ...query, cursor: page.next_cursor! })
      expect(page.total).to.deep.equal(first.total)
    }
    return { ...first, data }
  }
  const add = (parts: readonly Partial<UsageTable>[]) =>
    gateway.addUsage(
      parts.map((part, index) => ({
        ...usageRow(`req_${index}`, october),
        account_id: accountId,
        mode: 'live',
        ...part,
      })),
    )
  const refused = async (query: string, param: string) => {
    const response = await gateway.fetch(`/api/usage?${query}`, { key })
    expect(response.status, query).to.equal(400)
    await expectError(response, { status: 400, code: 'invalid_value', param })
  }

  it('adds up exactly the calls in the range, for any grouping and page size', async () => {
    const rows = fc.sample(anyRow, { numRuns: 400, seed: 11 })
    await add(rows)
    const moment = fc.oneof(
      fc.integer({ min: october - hourMs, max: october + 6 * hourMs }),
      oneOf(0, 1, 2, 3).map((hour) => october + hour * hourMs),
    )
    const property = fc.asyncProperty(
      fc.record({
        edges: fc.tuple(moment, moment).filter(([a, b]) => a !== b),
        groupBy: fc.subarray([...dimensions], { maxLength: 4 }),
        mode: oneOf('live', 'test'),
        model: oneOf(undefined, 'm'),
        order: oneOf('asc', 'desc'),
        order_by: oneOf('time', 'cost'),
        limit: oneOf('7', '100'),
      }),
      async ({ edges, groupBy, mode, model, ...rest }) => {
        const [from, to] = edges.toSorted((a, b) => a - b) as [number, number]
        const report = await askAll({
          ...rest,
          mode,
          from: new Date(from).toISOString(),
          to: new Date(to).toISOString(),
          ...(model === undefined ? {} : { model }),
          group_by: groupBy.join(','),
        })
        const asked = rows.filter(
          (row) =>
            row.mode === mode &&
            row.at! >= from &&
            row.at! < to &&
            (model === undefined || row.model === model),
        )
        expect(report).to.deep.include({ mode, group_by: groupBy, account_id: accountId })
        expect(report.from).to.equal(new Date(from).toISOString())
        expect(report.total).to.deep.equal(sumsOf(asked))
        const expected = Map.groupBy(asked, (row) => JSON.stringify(groupOf(row, groupBy)))
        const members = (group: Group) =>
          JSON.stringify(Object.fromEntries(groupBy.map((name) => [name, group[name]])))
        const found = new Map(report.data.map((group) => [members(group), group.sums]))
        expect(found.size).to.equal(report.data.length)
        expect(Object.fromEntries(found)).to.deep.equal(
          Object.fromEntries([...expected].map(([name, group]) => [name, sumsOf(group)])),
        )
        const costs = report.data.map(({ sums }) => sums.cost.nano_usd!)
        const sign = rest.order === 'asc' ? 1 : -1
        if (rest.order_by === 'cost') {
          expect(costs).to.deep.equal(costs.toSorted((a, b) => sign * (a - b)))
        }
      },
    )
    await fc.assert(property, { numRuns: 60 })
  })

  it('names keys, and covers the last 30 days by default', async () => {
    const { id } = (await (await gateway.fetch('/api/key', { key })).json()) as { id: string }
    const now = Date.parse('2026-11-22T12:30:00Z')
    await add([
      { at: now, key_id: id, cost_nano_usd: 5 },
      { at: now - 31 * 24 * hourMs, id: 'req_old', cost_nano_usd: 7 },
    ])
    const report = await ask({ group_by: 'key' })
    const [from, to] = [Date.parse(report.from), Date.parse(report.to)]
    expect(to - from).to.equal(30 * 24 * hourMs)
    expect(to % hourMs).to.equal(0)
    expect(report.data).to.have.length(1)
    expect(report.data[0]).to.include({ key: id, key_name: 'live key' })
    expect(report.total.cost).to.deep.equal({ usd: '0.000000005', nano_usd: 5 })
  })

  it('is exact to the nano-dollar, even above Number.MAX_SAFE_INTEGER', async () => {
    const million = 10 ** 15
    // Hourly sums and single rows, each above Number.MAX_SAFE_INTEGER.
    const dear = Array.from({ length: 20 }, (_, index) => ({ id: `req_dear_${index}` }))
    await add([
      ...dear.map((row, index) => ({
        ...row,
        at: october + (index % 2) * 2 * hourMs,
        model: 'dear',
        cost_nano_usd: million,
      })),
      { id: 'req_dearer', model: 'dearer', cost_nano_usd: million },
      ...dear.map(({ id }) => ({ id: `${id}_too`, model: 'dearer', cost_nano_usd: million })),
      { id: 'req_a', model: 'dear', cost_nano_usd: 1 },
      { id: 'req_b', model: 'safe', cost_nano_usd: Number.MAX_SAFE_INTEGER },
      { id: 'req_c', model: 'unsafe', cost_nano_usd: Number.MAX_SAFE_INTEGER },
      { id: 'req_d', model: 'unsafe', cost_nano_usd: 1 },
      { id: 'req_e', model: 'more', cost_nano_usd: Number.MAX_SAFE_INTEGER },
      { id: 'req_f', model: 'more', cost_nano_usd: 2 },
    ])
    const costs = [
      ['dearer', { usd: '21000000', nano_usd: null }],
      ['dear', { usd: '20000000.000000001', nano_usd: null }],
      ['more', { usd: '9007199.254740993', nano_usd: null }],
      ['unsafe', { usd: '9007199.254740992', nano_usd: null }],
      ['safe', { usd: '9007199.254740991', nano_usd: Number.MAX_SAFE_INTEGER }],
    ]
    const query = { from: '2026-10-31T22:00:00Z', group_by: 'model', order_by: 'cost', limit: '1' }
    for (const to of ['2026-11-01T01:00:00Z', '2026-11-01T00:30:00Z']) {
      for (const order of ['desc', 'asc']) {
        const { data, total } = await askAll({ ...query, to, order })
        const shown = data.map(({ model, sums }) => [model, sums.cost])
        expect(shown).to.deep.equal(order === 'desc' ? costs : costs.toReversed())
        expect(total.cost).to.deep.equal({ usd: '68021597.764222977', nano_usd: null })
      }
    }
    const path = '/api/usage/export?from=2026-10-31&to=2026-11-02&group_by=model&format=csv'
    const csv = await (await gateway.fetch(path, { key })).text()
    expect(csv).to.match(/^dear,.*,20000000\.000000001,,0,0\r$/m)
  })

  it('never includes another account', async () => {
    await add([{ account_id: 'acc_else', cost_nano_usd: 9 }])
    const report = await ask({ from: '2026-10-01', to: '2026-12-01', group_by: 'model' })
    expect(report.data).to.deep.equal([])
    expect(report.total).to.deep.equal(sumsOf([]))
  })

  it('refuses an invalid range, group or page, and names the parameter', async () => {
    const wrong: [query: string, param: string][] = [
      ['from=2026-11-02&to=2026-11-01', 'from'],
      ['from=2026-11-01&to=2026-11-01', 'from'],
      ['from=2099-12-31', 'from'],
      ['from=yesterday', 'from'],
      ['from=2026-02-30', 'from'],
      ['from=2026-13-01', 'from'],
      ['to=2026-11-01T25:00:00Z', 'to'],
      ['to=2026-11-01T08:00:00', 'to'],
      ['from=0001-01-01', 'from'],
      ['to=9999-12-31', 'to'],
      ['from=1e15', 'from'],
      [`from=${'2'.repeat(50)}`, 'from'],
      ['group_by=day,day', 'group_by'],
      ['group_by=moon', 'group_by[0]'],
      ['group_by=day,,model', 'group_by[1]'],
      ['mode=both', 'mode'],
      ['key=%27%20or%201=1', 'key'],
      ['limit=1000', 'limit'],
      ['order_by=name', 'order_by'],
      ['cursor=e30', 'cursor'],
      ['group_by=day&cursor=WyJhIl0', 'cursor'],
      [`group_by=day&cursor=${'a'.repeat(2000)}`, 'cursor'],
    ]
    for (const [query, param] of wrong) await refused(query, param)
  })

  it("accepts a forged cursor only as a position in the caller's own list", async () => {
    await add([{ cost_nano_usd: 3 }])
    for (const place of [[1e300], [-1e300], [0.5], [october]]) {
      const cursor = Buffer.from(JSON.stringify(place)).toString('base64url')
      const query = { from: '2026-10-01', to: '2026-12-01', group_by: 'hour', cursor }
      for (const order of ['asc', 'desc']) {
        const { data } = await ask({ ...query, order })
        expect(data.length).to.be.at.most(1)
        for (const { sums } of data) expect(sums.cost.nano_usd).to.equal(3)
      }
    }
  })

  it('reads a time with a zone, even if its plus sign was decoded to a space', async () => {
    const path = '/api/usage?from=2026-11-01T00:00:00+02:00&to=2026-11-02T00:00:00Z'
    const report = (await (await gateway.fetch(path, { key })).json()) as Report
    expect(report.from).to.equal('2026-10-31T22:00:00.000Z')
  })
})

function groupOf(row: Partial<UsageTable>, groupBy: readonly string[]): Record<string, unknown> {
  const date = new Date(row.at!).toISOString()
  const whole: Record<string, unknown> = {
    hour: `${date.slice(0, 13)}:00:00.000Z`,
    day: `${date.slice(0, 10)}T00:00:00.000Z`,
    month: `${date.slice(0, 7)}-01T00:00:00.000Z`,
    key: row.key_id,
    model: row.model,
    provider: row.provider,
    face: row.face,
    modality: row.modality,
    outcome: row.outcome,
  }
  return Object.fromEntries(groupBy.map((name) => [name, whole[name]]))
}

function sumsOf(rows: readonly Partial<UsageTable>[]): Report['total'] {
  const sum = (of: (row: Partial<UsageTable>) => number) =>
    rows.reduce((total, row) => total + of(row), 0)
  // The cast is safe, because every name in `sumNames` is a column of `usage` and a sum.
  type Sums = Pick<Report['total'], (typeof sumNames)[number]>
  const sums = Object.fromEntries(sumNames.map((name) => [name, sum((row) => row[name]!)])) as Sums
  return {
    calls: rows.length,
    failed_calls: sum((row) => (row.outcome === 'failed' ? 1 : 0)),
    cached_calls: sum((row) => (row.cache === 'hit' ? 1 : 0)),
    unpriced_calls: sum((row) => (row.cost_nano_usd === null ? 1 : 0)),
    ...sums,
    cost: moneyOf(sum((row) => row.cost_nano_usd ?? 0)),
    saved: moneyOf(sum((row) => row.saved_nano_usd ?? 0)),
  }
}
