import { expect } from 'chai'
import fc from 'fast-check'
import { foldDeltas } from '../../src/storage/fold-deltas.ts'
import { amounts } from '../../src/storage/migrations/usage-deltas.ts'
import { dimensions } from '../../src/storage/migrations/usage-hours.ts'
import type { Tables, UsageTable } from '../../src/storage/tables.ts'
import { makeFolder } from '../support/folder.ts'
import { forEachStore } from '../support/each-store.ts'
import { holdStore } from '../support/held-store.ts'
import { openGuardedStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

const hourMs = 3_600_000
/** Intervals and timeouts are short, so that no test waits. */
const limits = {
  databaseQueryTimeoutMs: 100,
  storeBusyTimeoutMs: 20,
  storeCheckIntervalMs: 20,
  ledgerRetryMaxMs: 60,
}

const counts = [
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

const oneOf = <T>(...values: T[]) => fc.constantFrom(...values)
const count = fc.nat(1_000_000)
const anyRow: fc.Arbitrary<Partial<UsageTable>> = fc.record({
  at: fc.oneof(fc.integer({ min: 0, max: 3 * hourMs }), oneOf(0, hourMs - 1, hourMs, 2 * hourMs)),
  account_id: oneOf('acc_1', 'acc_2'),
  key_id: oneOf('key_1', 'key_2'),
  mode: oneOf('live', 'test'),
  face: oneOf('chat', 'images', 'mcp'),
  modality: oneOf('chat', 'image'),
  model: oneOf('m', 'n', ''),
  provider: oneOf(null, 'p', 'q'),
  outcome: oneOf('ok', 'failed', 'cancelled'),
  cache: oneOf('hit', 'miss', 'bypass'),
  cost_nano_usd: fc.option(fc.nat()),
  saved_nano_usd: fc.option(fc.nat()),
  ...Object.fromEntries(counts.map((name) => [name, count])),
})

/** The expected sums of these rows. */
function hoursOf(rows: readonly UsageTable[]): Tables['usage_hours'][] {
  return merged(rows.map(hourOf))
}

function hourOf(row: UsageTable): Tables['usage_hours'] {
  const { account_id, mode, key_id, model, face, modality, outcome } = row
  const place = { account_id, mode, hour_at: Math.floor(row.at / hourMs) * hourMs, key_id, model }
  const whole = { ...place, provider: row.provider ?? '', face, modality, outcome }
  return {
    ...whole,
    calls: 1,
    cached_calls: row.cache === 'hit' ? 1 : 0,
    unpriced_calls: row.cost_nano_usd === null ? 1 : 0,
    cost_nano_usd: row.cost_nano_usd ?? 0,
    saved_nano_usd: row.saved_nano_usd ?? 0,
    ...(Object.fromEntries(counts.map((one) => [one, row[one]])) as Record<
      (typeof counts)[number],
      number
    >),
  }
}

/** Adds sums with equal keys: with PostgreSQL deltas are separate rows until they are folded. */
function merged(rows: readonly Tables['usage_hours'][]): Tables['usage_hours'][] {
  const hours = new Map<string, Record<string, string | number>>()
  for (const row of rows) {
    const name = JSON.stringify(dimensions.map((one) => row[one as keyof typeof row]))
    const before = hours.get(name)
    hours.set(name, { ...row })
    for (const sum of before === undefined ? [] : amounts)
      hours.get(name)![sum] = Number(before![sum]) + Number(row[sum as keyof typeof row])
  }
  return [...hours.values()] as Tables['usage_hours'][]
}

/** Rows as sorted JSON, because their order does not matter and node:sqlite's rows lack a prototype. */
const sorted = (rows: readonly Tables['usage_hours'][]) =>
  rows.map((row) => JSON.stringify(row, Object.keys(row).toSorted())).toSorted()

const rowsOf = (parts: readonly Partial<UsageTable>[], prefix: string): UsageTable[] =>
  parts.map((part, index) => ({ ...usageRow(`${prefix}${index}`), ...part }))

forEachStore('the hourly sums of usage', (kind) => {
  it('match the rows, however those were inserted', async () => {
    const group = fc.array(anyRow, { minLength: 1, maxLength: 8 })
    const property = fc.asyncProperty(
      fc.array(fc.record({ group, isHeld: fc.boolean() }), { minLength: 1, maxLength: 4 }),
      async (groups) => {
        const folder = makeFolder()
        const store = await openGuardedStore(folder.path, { limits })
        const kept: UsageTable[] = []
        try {
          for (const [index, { group: parts, isHeld }] of groups.entries()) {
            const rows = rowsOf(parts, `req_${index}_`)
            kept.push(...rows)
            // While another program locks the store, rows go to the journal.
            const giveFree = isHeld ? await holdStore(folder.path) : undefined
            try {
              await store.insert('usage', rows)
            } finally {
              await giveFree?.()
            }
            if (!isHeld) continue
            await until('the store accepts rows', () => !throws(store.assertWritable))
            // Simulates a second replay of the journal.
            const again = store.insertions('usage', rows, { unlessThere: true })
            await store.commit(again)
            if (kind === 'postgres') await foldDeltas(store.db)
          }
          const hours = await store.db.selectFrom('usage_hours').selectAll().execute()
          expect(sorted(merged(hours))).to.deep.equal(sorted(hoursOf(kept)))
        } finally {
          await store.close()
          folder.remove()
        }
      },
    )
    await fc.assert(property, { numRuns: kind === 'sqlite' ? 15 : 4 })
  })
})

function throws(run: () => void): boolean {
  try {
    run()
    return false
  } catch {
    return true
  }
}
