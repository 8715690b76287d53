import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { sql } from 'kysely'
import { createUsageReports } from '../../src/accounts/usage/report.ts'
import { archiveUsage, type ArchivedMonth } from '../../src/storage/copies/archive.ts'
import { backUp } from '../../src/storage/copies/backup.ts'
import { exportStore } from '../../src/storage/copies/export.ts'
import { importIntoDatabase, importIntoFolder } from '../../src/storage/copies/import.ts'
import type { Store } from '../../src/storage/store.ts'
import type { UsageTable } from '../../src/storage/tables.ts'
import { accountRow } from '../support/callers.ts'
import { runCommand } from '../support/command-line.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

const now = Date.UTC(2026, 3, 15)
const dayMs = 86_400_000

/** Calls from January to April of two accounts, more than one page of them, and two provisional rows. */
function rows(): UsageTable[] {
  const made = Array.from({ length: 1300 }, (_, index) => ({
    ...usageRow(`req_${index}`, Date.UTC(2026, 0) + Math.floor((index * 104 * dayMs) / 1300)),
    account_id: index % 3 === 0 ? 'acc_2' : 'acc_1',
    mode: index % 5 === 0 ? 'test' : 'live',
    model: `m${index % 4}`,
    cost_nano_usd: index % 7 === 0 ? null : 1_000_000_007,
    cost_status: index % 7 === 0 ? 'unknown' : 'exact',
  }))
  const provisional = { ...made[1]!, cost_status: 'unknown', outcome: 'unknown' }
  const unpriced = { ...provisional, id: 'req_without_budget', cost_nano_usd: null }
  return [...made, { ...provisional, id: 'req_with_budget' }, unpriced]
}

forEachStore('archives of the ledger', (kind) => {
  let folder: TemporaryFolder
  let dataDir: string
  let files: string
  let store: Store
  beforeEach(async () => {
    folder = makeFolder()
    dataDir = join(folder.path, 'data')
    files = join(folder.path, 'archives')
    mkdirSync(files)
    store = await openTestStore(dataDir)
    await store.db
      .insertInto('accounts')
      .values([accountRow('acc_1'), accountRow('acc_2')])
      .execute()
    await store.commit(store.insertions('usage', rows()))
  })
  afterEach(async () => {
    await store.close()
    folder.remove()
  })

  const archive = async (monthsKept: number, at = now) => {
    const months: ArchivedMonth[] = []
    const onMonth = (month: ArchivedMonth) => void months.push(month)
    await archiveUsage({ store, dataDir, folder: files, monthsKept, now: at, onMonth })
    return months
  }
  const failure = (attempt: Promise<unknown>) =>
    attempt.then(
      () => 'no error',
      (error: Error) => error.message,
    )
  const count = async () => {
    const { rows: found } = await sql<{ calls: unknown }>`
      select count(*) as calls from usage`.execute(store.db)
    return Number(found[0]!.calls)
  }
  const hours = async (of = store) => {
    const { rows: found } = await sql<object>`
      select account_id, mode, hour_at, model, cast(sum(calls) as text) as calls,
        cast(sum(cost_nano_usd) as text) as cost, cast(sum(input_tokens) as text) as tokens
      from usage_hours group by 1, 2, 3, 4 order by 1, 2, 3, 4`.execute(of.reader.db)
    return found
  }
  const report = (of = store) =>
    createUsageReports({ reader: of.reader, clock: () => now }).report(
      {
        accountId: 'acc_1',
        mode: 'live',
        from: '2026-01-01',
        to: '2026-04-15',
        filter: {},
        groupBy: ['month', 'model'],
        orderBy: 'time',
        order: 'asc',
        cursor: undefined,
      },
      100,
    )

  it('leave budgets in total what they have counted', async () => {
    const call = { ...rows()[1]!, id: 'req_tagged', key_id: 'key_1', tags: '["a"]' }
    await store.commit(store.insertions('usage', [call]))
    const total = { starts_at: 0, ends_at: 8_640_000_000_000_000, reserved_nano_usd: 0 }
    const windows = ['acc_1', 'key_1#a'].map((owner) => ({
      owner_id: owner,
      ...total,
      spent_nano_usd: call.cost_nano_usd!,
    }))
    await store.db.insertInto('budget_windows').values(windows).execute()
    expect((await archive(1)).map(({ removed }) => removed > 0)).to.deep.equal([true, true])
    const kept = store.db.selectFrom('budget_windows').selectAll().orderBy('owner_id')
    expect(await kept.execute()).to.deep.equal(windows)
  })

  it('hold closed months; nothing is removed without the setting', async () => {
    const before = await hours()
    const months = await archive(0)
    expect(months.map(({ month, removed, kept }) => [month, removed, kept])).to.deep.equal([
      ['2026-01', 0, 0],
      ['2026-02', 0, 0],
      ['2026-03', 0, 0],
    ])
    expect(await count()).to.equal(1302)
    expect(await hours()).to.deep.equal(before)
    expect(statSync(months[0]!.file).mode & 0o777).to.equal(0o600)
    expect((await archive(0)).map((one) => one.sha256)).to.deep.equal(
      months.map((one) => one.sha256),
    )
  })

  it('keep the sums: a report of the year is the same, and a provisional row is not taken back', async () => {
    const [before, reported] = [await hours(), await report()]
    const months = await archive(1)
    expect(months.map(({ month, removed, calls }) => [month, removed === calls])).to.deep.equal([
      ['2026-01', true],
      ['2026-02', true],
    ])
    expect(await count()).to.equal(1302 - months.reduce((sum, { calls }) => sum + calls, 0))
    expect(await hours()).to.deep.equal(before)
    expect(await report()).to.deep.equal(reported)
    expect(await archive(1)).to.deep.equal([])
    expect(readdirSync(files)).to.deep.equal(['usage-2026-01.jsonl.gz', 'usage-2026-02.jsonl.gz'])
  })

  it('do not hold a month that ended less than a day ago', async () => {
    const months = await archive(0, Date.UTC(2026, 3) + dayMs - 1)
    expect(months.map(({ month }) => month)).to.deep.equal(['2026-01', '2026-02'])
  })

  it('are not replaced by other content, and nothing is removed', async () => {
    await archive(0)
    await store.db.updateTable('usage').set({ input_tokens: 5 }).where('id', '=', 'req_2').execute()
    expect(await failure(archive(1))).to.match(
      /2026-01\.jsonl\.gz differs from the store: 1 of its 390 rows are not in the store, and 1 rows/,
    )
    await store.commit(store.insertions('usage', [usageRow('req_late', Date.UTC(2026, 0, 2))]))
    expect(await failure(archive(1))).to.match(/2 rows of the store are not in it\. Move it/)
    expect(await count()).to.equal(1303)
  })

  it('that are damaged or of another month remove nothing', async () => {
    const [january] = await archive(0)
    const text = gunzipSync(readFileSync(january!.file)).toString()
    const spoiled = [
      gzipSync(text.replace('1000000007', '1000000008')),
      readFileSync(january!.file).subarray(0, 2000),
      readFileSync(join(files, 'usage-2026-02.jsonl.gz')),
      Buffer.from('nothing'),
      Buffer.alloc(0),
    ]
    for (const bytes of spoiled) {
      writeFileSync(january!.file, bytes)
      expect(await failure(archive(1))).to.match(/cannot be (imported|read)|other rows|is empty/)
      expect(await count()).to.equal(1302)
    }
  })

  it('that lack sums remove nothing', async () => {
    if (kind === 'sqlite')
      await sql`update usage_hours set calls = calls + 1 where account_id = 'acc_1' and model = 'm1'
        and hour_at < ${Date.UTC(2026, 0, 2)}`.execute(store.db)
    else await sql`delete from usage where id = 'req_1'`.execute(store.db)
    expect(await failure(archive(1))).to.match(/rows of 2026-01 differ from their hourly sums/)
    expect(readdirSync(files)).to.deep.equal([])
  })

  it('leave rows that come later', async () => {
    await archive(1)
    const late = { ...usageRow('req_late', Date.UTC(2026, 0, 2)), mode: 'live', cost_nano_usd: 5 }
    await store.commit(store.insertions('usage', [late]))
    const [first] = await archive(1)
    expect([first!.removed, first!.kept]).to.deep.equal([0, 1])
    expect(
      await store.db.selectFrom('usage').select('id').where('id', '=', 'req_late').execute(),
    ).to.have.length(1)
  })

  it('are known to an export, which carries the sums of their rows', async () => {
    await archive(1)
    const late = { ...usageRow('req_late', Date.UTC(2026, 0, 2)), mode: 'live', cost_nano_usd: 5 }
    await store.commit(store.insertions('usage', [late]))
    const file = join(folder.path, 'rows.jsonl')
    await exportStore({ store, dataDir, file, replaces: false })
    const to = join(mkdtempSync(join(folder.path, 'other-')), 'data')
    if (kind === 'postgres') {
      const database = await openTestStore(to)
      await importIntoDatabase({ store: database, file })
      expect(await hours(database)).to.deep.equal(await hours())
      expect(await report(database)).to.deep.equal(await report())
      await database.close()
      return
    }
    await importIntoFolder({ dataDir: to, file })
    const { stdout } = await runCommand(
      ['usage', '--since', '2026-01-01', '--until', '2026-04-15', '--account', 'acc_1', '--json'],
      { DATA_DIR: to },
    )
    const { total } = JSON.parse(stdout) as { total: object }
    expect(total).to.deep.equal((await report()).total)
  })

  it('are imported into an empty store', async () => {
    const [january] = await archive(1)
    const to = join(mkdtempSync(join(folder.path, 'other-')), 'data')
    const { rows: imported, costNanoUsd } = await importIntoFolder({
      dataDir: to,
      file: january!.file,
    })
    expect([imported, costNanoUsd]).to.deep.equal([january!.calls, january!.costNanoUsd])
  })

  if (kind === 'sqlite') {
    it('are known to a backup', async () => {
      await archive(1)
      const file = join(folder.path, 'gateway-backup.db')
      const { calls } = await backUp({ dataDir, file, replaces: false })
      expect(calls).to.equal(await count())
      await sql`update usage_archives set calls = calls + 1`.execute(store.db)
      expect(await failure(backUp({ dataDir, file, replaces: true }))).to.match(/hourly sums/)
    })

    it('are made by a command', async () => {
      const missing = await runCommand(['archive', join(files, 'none')], { DATA_DIR: dataDir })
      expect([missing.code, missing.stderr]).to.deep.equal([
        1,
        `The folder ${files}/none does not exist. Create it first.\n`,
      ])
      const none = await runCommand(['archive', files], { DATA_DIR: dataDir })
      expect(none.stdout).to.match(
        /^Archived \d+ months\. No row was removed, since usage_months is not set\.\n$/,
      )
      expect(none.stderr).to.include(`2026-01: 390 calls for $`)
      const settings = join(folder.path, 'gateway.yaml')
      writeFileSync(settings, 'limits: { usage_months: 1 }\n')
      const variables = { DATA_DIR: dataDir, CONFIG_FILE: settings }
      const made = await runCommand(['archive', files, '--json'], variables)
      const { months, removed } = JSON.parse(made.stdout) as {
        months: { removed: number }[]
        removed: number
      }
      expect(removed)
        .to.equal(months.reduce((sum, one) => sum + one.removed, 0))
        .above(700)
      const refused = await runCommand(['archive'], variables)
      expect([refused.code, refused.stderr]).to.deep.equal([
        2,
        'The folder is missing. Usage: npm run -s gateway -- archive <folder>\n',
      ])
    })
  }
})
