import { expect } from 'chai'
import pg from 'pg'
import { createBudgets } from '../../src/accounts/budgets.ts'
import type { GatewayError } from '../../src/core/error.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { askedCall, callerOf, unlimited } from '../support/callers.ts'
import { databaseOf, forEachStore, runIn } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openGuardedStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

const limits = { ledgerGroupRowsMax: 3, ledgerGroupPauseMaxMs: 0, budgetWaitMaxMs: 20 }
const waiting = `select 1 from pg_stat_activity
  where wait_event_type = 'Lock' and datname = current_database()`
const at = Date.parse('2026-11-20T12:00:00Z')

forEachStore('budgets of processes that share a store', (kind) => {
  let folder: TemporaryFolder
  let stores: GuardedStore[]
  beforeEach(async () => {
    folder = makeFolder()
    const processes = kind === 'sqlite' ? 2 : 4
    stores = []
    while (stores.length < processes) stores.push(await openGuardedStore(folder.path))
  })
  afterEach(async () => {
    for (const store of stores) await store.close()
    folder.remove()
  })

  const callerWith = (keyId: string, nanoUsd: number) => {
    const budget = { nanoUsd, period: 'month' as const }
    const account = {
      ...unlimited('acc_1'),
      budget: { nanoUsd: 10 * nanoUsd, period: 'total' as const },
    }
    return callerOf({
      accountId: 'acc_1',
      keyId,
      allowances: [account, { ...unlimited(keyId), budget }],
    })
  }
  const windows = () =>
    stores[0]!.db
      .selectFrom('budget_windows')
      .select(['owner_id', 'spent_nano_usd as spent', 'reserved_nano_usd as reserved'])
      .orderBy('owner_id')
      .execute()

  it('pay exactly 10 of 200 concurrent calls, and count ledger rows of both processes', async () => {
    const caller = callerWith('key_1', 1050)
    const budgets = stores.map((store) => createBudgets({ store, clock: () => at, limits }))
    const asked = await Promise.allSettled(
      Array.from({ length: 200 }, (_, call) =>
        budgets[call % stores.length]!.reserve({
          caller,
          requestId: `req_${call}`,
          ...askedCall,
          at,
          timeoutMs: 60_000,
          nanoUsd: 100,
        }),
      ),
    )
    const codes = asked.map((one) =>
      one.status === 'fulfilled' ? 'granted' : (one.reason as GatewayError).code,
    )
    expect(codes.filter((code) => code === 'granted')).to.have.length(10)
    expect(codes.filter((code) => code === 'rate_limit_exceeded')).to.have.length(190)
    expect(await windows()).to.deep.equal([
      { owner_id: 'acc_1', spent: 0, reserved: 1000 },
      { owner_id: 'key_1', spent: 0, reserved: 1000 },
    ])
    const granted = codes.flatMap((code, call) => (code === 'granted' ? [call] : []))
    await Promise.all(
      granted.map((call) =>
        stores[call % stores.length]!.insert('usage', [
          {
            ...usageRow(`req_${call}`, at),
            account_id: 'acc_1',
            key_id: 'key_1',
            mode: 'live',
            cost_nano_usd: call % 3 === 0 ? null : 90,
          },
        ]),
      ),
    )
    const spent = granted.reduce((sum, call) => sum + (call % 3 === 0 ? 100 : 90), 0)
    expect(await windows()).to.deep.equal([
      { owner_id: 'acc_1', spent, reserved: 0 },
      { owner_id: 'key_1', spent, reserved: 0 },
    ])
    expect(await stores[0]!.db.selectFrom('reservations').selectAll().execute()).to.deep.equal([])
  })

  if (kind === 'postgres') {
    it("wait for another process's uncommitted reservation", async () => {
      const caller = callerWith('key_1', 1000)
      const budgets = createBudgets({ store: stores[0]!, clock: () => at, limits })
      await budgets.statesFor(caller)
      const asked = { ...askedCall, caller, requestId: 'req_1', at, timeoutMs: 1000, nanoUsd: 600 }
      const url = (await databaseOf(folder.path))!
      const other = new pg.Client({ connectionString: url })
      await other.connect()
      await other.query('begin')
      await other.query(
        `insert into reservations values ('req_other', 'acc_1', 'key_1', 600, ${at}, ${at})`,
      )
      const answer = budgets.reserve(asked).then(
        () => 'granted',
        (error: GatewayError) => error.code,
      )
      await until('it waits', async () => (await runIn(url, waiting)).length === 1)
      await other.query('commit')
      await other.end()
      expect(await answer).to.equal('rate_limit_exceeded')
    })
  }

  it('are opened with exact sums during writes of other calls', async () => {
    const keys = ['key_1', 'key_2', 'key_3', 'key_4']
    const row = (call: number) => ({
      ...usageRow(`req_${call}`, at + call),
      account_id: 'acc_1',
      key_id: keys[call % keys.length]!,
      mode: 'live',
      cost_nano_usd: 7,
    })
    const writes = Array.from({ length: 60 }, async (_, group) => {
      const rows = Array.from({ length: 5 }, (_one, index) => row(group * 5 + index))
      // Rows are written in different orders, which must not deadlock.
      await stores[group % stores.length]!.insert(
        'usage',
        group % 3 === 0 ? rows.toReversed() : rows,
      )
    })
    const opening = keys.map(async (key, index) => {
      const budgets = createBudgets({
        store: stores[index % stores.length]!,
        clock: () => at,
        limits,
      })
      // The reservation opens a budget window during concurrent writes of ledger rows.
      const caller = callerWith(key, 1_000_000)
      const call = { caller, requestId: `req_${key}`, ...askedCall }
      await budgets.reserve({ ...call, at, timeoutMs: 1000, nanoUsd: 0 })
    })
    await Promise.all([...writes, ...opening])
    expect(await windows()).to.deep.equal([
      { owner_id: 'acc_1', spent: 300 * 7, reserved: 0 },
      ...keys.map((owner_id) => ({ owner_id, spent: 75 * 7, reserved: 0 })),
    ])
    const { calls } = await stores[0]!.db
      .selectFrom('usage_hours')
      .select(({ fn }) => fn.sum<number>('calls').as('calls'))
      .executeTakeFirstOrThrow()
    expect(calls).to.equal(300)
  })
})
