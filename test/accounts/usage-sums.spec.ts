import { expect } from 'chai'
import fc from 'fast-check'
import { sql } from 'kysely'
import { createUsageReports, type ReportRequest } from '../../src/accounts/usage/report.ts'
import { createSumFolding } from '../../src/accounts/usage/sum-folding.ts'
import type { Dimension } from '../../src/accounts/usage/sums.ts'
import { summedTo } from '../../src/storage/fold-deltas.ts'
import type { Store } from '../../src/storage/store.ts'
import type { UsageTable } from '../../src/storage/tables.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const begin = Date.UTC(2027, 11, 20)
const end = Date.UTC(2028, 3, 5)

const oneOf = <T>(...values: T[]) => fc.constantFrom(...values)
/** Times over several months, often at a boundary. */
const time = fc
  .tuple(fc.integer({ min: 0, max: (end - begin) / dayMs }), fc.integer({ min: 0, max: dayMs }))
  .chain(([day, offset]) =>
    oneOf(
      begin + day * dayMs,
      begin + day * dayMs - 1,
      Math.min(begin + day * dayMs + offset, end),
    ),
  )
const monthStart = oneOf(...[0, 1, 2, 3].map((month) => Date.UTC(2028, month)))
const moment = fc.oneof(time, monthStart)
const anyRow: fc.Arbitrary<Partial<UsageTable>> = fc.record({
  at: moment,
  key_id: oneOf('key_1', 'key_2'),
  model: oneOf('m', 'n'),
  provider: oneOf(null, 'p'),
  face: oneOf('chat', 'mcp'),
  // Half of the rows are provisional, and may be taken back.
  outcome: oneOf('ok', 'unknown'),
  cost_nano_usd: fc.option(fc.nat()),
})
const dimensions = oneOf<Dimension[]>(
  [],
  ['day'],
  ['month'],
  ['hour'],
  ['key'],
  ['member'],
  ['model'],
  ['day', 'model'],
  ['month', 'key'],
  ['key', 'model'],
  ['provider', 'face'],
)
const filter = oneOf(
  {},
  { model: 'm' },
  { key: 'key_1' },
  { outcome: 'ok' },
  { member: 'per_1' },
  { key: 'key_2', model: 'n' },
)
const anyReport = fc.record({ ends: fc.tuple(moment, moment), groupBy: dimensions, filter })
/** What happens to the store: rows arrive, or provisional ones are taken back, and the sums proceed to a time. */
const anyStep = fc.record({
  rows: fc.array(anyRow, { maxLength: 12 }),
  takesBack: fc.boolean(),
  now: fc.option(moment),
})

type AnyReport = { ends: [number, number]; groupBy: Dimension[]; filter: Record<string, string> }

const valueOf = (row: UsageTable, name: string): unknown => {
  const date = new Date(row.at)
  if (name === 'hour') return new Date(Math.floor(row.at / hourMs) * hourMs).toISOString()
  if (name === 'day') return new Date(Math.floor(row.at / dayMs) * dayMs).toISOString()
  if (name === 'month')
    return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth())).toISOString()
  if (name === 'key') return row.key_id
  if (name === 'member') return row.key_id === 'key_1' ? 'per_1' : null
  return row[name as 'model' | 'provider' | 'face' | 'outcome']
}

/** The expected groups of a report: calls and cost by the values of its dimensions. */
function expected(rows: readonly UsageTable[], { ends, groupBy, filter }: AnyReport) {
  const [from, to] = rangeOf(ends)
  const groups = new Map<string, { calls: number; cost: number; tokens: number }>()
  for (const row of rows) {
    if (row.at < from || row.at >= to) continue
    if (Object.entries(filter).some(([name, value]) => valueOf(row, name) !== value)) continue
    const name = JSON.stringify(groupBy.map((one) => valueOf(row, one)))
    const before = groups.get(name) ?? { calls: 0, cost: 0, tokens: 0 }
    groups.set(name, {
      calls: before.calls + 1,
      cost: before.cost + (row.cost_nano_usd ?? 0),
      tokens: before.tokens + row.input_tokens,
    })
  }
  return groups
}

const rangeOf = ([one, other]: [number, number]): [number, number] =>
  one === other ? [one, one + 1] : [Math.min(one, other), Math.max(one, other)]

forEachStore('reports of months and days', (kind) => {
  let folder: TemporaryFolder
  let store: Store
  const failures: unknown[] = []
  const onSwept = (error?: unknown) => void (error === undefined || failures.push(error))

  before(async () => {
    folder = makeFolder()
    store = await openTestStore(folder.path)
    const { db } = store
    await db
      .insertInto('accounts')
      .values({ id: 'acc_1', name: 'a', created_at: 1, is_operator: 1, keeps_prompts: 0 })
      .execute()
    const key = {
      account_id: 'acc_1',
      name: 'k',
      mode: 'live',
      hint: '',
      created_at: 1,
      kind: 'key',
      scopes: '[]',
    } as const
    await db
      .insertInto('api_keys')
      .values([
        { ...key, id: 'key_1', digest: '1', created_by: 'per_1' },
        { ...key, id: 'key_2', digest: '2', created_by: null },
      ])
      .execute()
  })
  after(async () => {
    await store.close()
    folder.remove()
  })
  /** Removes all rows and sums. */
  const reset = async () => {
    const sums = kind === 'sqlite' ? ['usage_hours'] : ['usage_hour_sums', 'usage_deltas']
    for (const table of ['usage', ...sums, 'usage_sums', 'write_checks'])
      await sql`delete from ${sql.table(table)}`.execute(store.db)
  }
  const sumsUntil = async (now: number) => {
    const folding = createSumFolding({ store, clock: () => now, onSwept })
    while (failures.length === 0 && (await summedTo(store.db)) < Math.floor(now / hourMs) * hourMs)
      await folding.look()
    folding.close()
  }
  const report = async ({ ends, groupBy, filter }: AnyReport) => {
    const reports = createUsageReports({ reader: store.reader, clock: () => end })
    const [from, to] = rangeOf(ends).map((at) => new Date(at).toISOString())
    const request = {
      accountId: 'acc_1',
      mode: 'live',
      from,
      to,
      groupBy,
      filter,
      orderBy: 'time',
      order: 'asc',
      cursor: undefined,
    }
    return reports.report(request as ReportRequest, 1000)
  }

  it('equal the rows for any range, whenever rows arrive, are taken back and are summed up', async () => {
    const property = fc.asyncProperty(
      fc.array(anyStep, { minLength: 1, maxLength: 6 }),
      fc.array(anyReport, { minLength: 8, maxLength: 8 }),
      async (steps, requests) => {
        await reset()
        let rows: UsageTable[] = []
        for (const [index, { rows: parts, takesBack, now }] of steps.entries()) {
          const blank = { ...usageRow(''), mode: 'live', input_tokens: 0 }
          const added = parts.map((part, place) => ({
            ...blank,
            ...part,
            id: `req_${index}_${place}`,
            // A provisional row has no tokens.
            input_tokens: part.outcome === 'ok' ? 7 : 0,
          })) as UsageTable[]
          await store.commit(store.insertions('usage', added))
          rows.push(...added)
          const gone = takesBack ? rows.find(({ outcome }) => outcome === 'unknown') : undefined
          rows = rows.filter((one) => one !== gone)
          if (gone !== undefined)
            await store.db.deleteFrom('usage').where('id', '=', gone.id).execute()
          if (now !== null) await sumsUntil(now)
          expect(failures).to.deep.equal([])
        }
        for (const request of requests as AnyReport[]) {
          const { total, data } = await report(request)
          const groups = expected(rows, request)
          const whole = expected(rows, { ...request, groupBy: [] }).get('[]')
          expect([total.calls, total.cost.nano_usd, total.input_tokens]).to.deep.equal([
            whole?.calls ?? 0,
            whole?.cost ?? 0,
            whole?.tokens ?? 0,
          ])
          const found = data.map((group) => {
            const values = request.groupBy.map((name) => group[name as keyof typeof group])
            const { calls, cost, input_tokens: tokens } = group.sums
            return [JSON.stringify(values), { calls, cost: cost.nano_usd, tokens }]
          })
          expect(found).to.have.deep.members([...groups])
        }
      },
    )
    await fc.assert(property, { numRuns: 12 })
  })
})
