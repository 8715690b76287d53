import { readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { sql } from 'kysely'
import { createBudgets, type Budgets } from '../../src/accounts/budgets.ts'
import { sweepReservations } from '../../src/accounts/reservation-sweep.ts'
import type { GatewayError } from '../../src/core/error.ts'
import { openCallMarks, type CallMarks } from '../../src/storage/call-marks.ts'
import { exportStore } from '../../src/storage/copies/export.ts'
import { foldDeltas } from '../../src/storage/fold-deltas.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { askedCall, callerOf, unlimited } from '../support/callers.ts'
import { chanceFrom } from '../support/chance.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openGuardedStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

const limits = { ledgerGroupRowsMax: 100, ledgerGroupPauseMaxMs: 0, budgetWaitMaxMs: 4000 }
const amount = 1_000_000

forEachStore('leases of budgets', (kind) => {
  // SQLite has one lock for all writes, so no process leases there.
  if (kind === 'sqlite') return
  let folder: TemporaryFolder
  let stores: GuardedStore[]
  let marks: CallMarks[]
  let processes: Budgets[]
  let ids: number
  /** Rows in the journal of the first process. */
  let journaled: number
  beforeEach(async () => {
    folder = makeFolder()
    ids = 0
    journaled = 0
    stores = await Promise.all([0, 1, 2, 3].map(() => openGuardedStore(folder.path)))
    marks = stores.map(() => openCallMarks(folder.path))
    processes = stores.map((opened, index) => {
      const store = { ...opened, ...(index === 0 && { journalRows: () => journaled }) }
      return createBudgets({ store, marks: marks[index]!, clock: Date.now, limits })
    })
  })
  afterEach(async () => {
    for (const one of processes) await one.leases.close()
    for (const one of marks) one.close()
    for (const store of stores) await store.close()
    folder.remove()
  })

  const callerWith = (nanoUsd: number) =>
    callerOf({
      allowances: [
        { ...unlimited('acc_1'), budget: { nanoUsd, period: 'total' } },
        { ...unlimited('key_1'), budget: { nanoUsd, period: 'month' } },
      ],
    })
  const reserve = async (index: number, nanoUsd: number, of = amount) => {
    const requestId = `req_${ids++}`
    const call = { ...askedCall, caller: callerWith(of), timeoutMs: 60_000, at: Date.now() }
    const held = await processes[index]!.reserve({ ...call, requestId, nanoUsd })
    return { held, requestId, at: call.at }
  }
  const row = (id: string, at: number, cost: number | null) => {
    const paid = { mode: 'live' as const, account_id: 'acc_1', key_id: 'key_1' }
    const status = cost === null ? 'unknown' : 'exact'
    return { ...usageRow(id, at), ...paid, cost_nano_usd: cost, cost_status: status }
  }
  const settle = (
    index: number,
    { held, requestId, at }: Awaited<ReturnType<typeof reserve>>,
    cost: number | null,
  ) => held.settle(cost, () => stores[index]!.insert('usage', [row(requestId, at, cost)]))
  const call = async (index: number, nanoUsd: number, cost: number | null, of = amount) =>
    settle(index, await reserve(index, nanoUsd, of), cost)
  const db = () => stores[0]!.db
  const leased = async () => {
    const { rows } = await sql<{ nano_usd: number }>`
      select cast(coalesce(sum(nano_usd), 0) as bigint) as nano_usd from budget_leases`.execute(
      db(),
    )
    return rows[0]!.nano_usd
  }
  /** What is spent, and what calls have reserved in the windows themselves. */
  const windows = async () => {
    const { rows } = await sql`
      select owner_id, spent_nano_usd as spent, cast(reserved_nano_usd - (
        select coalesce(sum(nano_usd), 0) from budget_leases as l where l.owner_id = w.owner_id) as bigint) as reserved
      from budget_windows as w order by owner_id`.execute(db())
    return rows
  }
  const both = (spent: number, reserved: number) =>
    ['acc_1', 'key_1'].map((owner) => ({ owner_id: owner, spent, reserved }))
  /** Makes calls until the process has leased; returns what they cost. */
  const lease = async (index: number): Promise<number> => {
    let cost = 0
    await until('it has leased', async () => {
      await Promise.all(Array.from({ length: 8 }, () => call(index, 100, 1)))
      cost += 8
      return processes[index]!.leases.free() >= 400
    })
    return cost
  }

  it('let calls take money and be written while another transaction locks the windows', async () => {
    let cost = await lease(0)
    await db()
      .connection()
      .execute(async (connection) => {
        await sql`begin`.execute(connection)
        await sql`select 1 from budget_window_sums for update`.execute(connection)
        await call(0, 100, 7)
        cost += 7
        await sql`rollback`.execute(connection)
      })
    expect(await windows()).to.deep.equal(both(cost, 0))
    await until('the idle lease is returned', async () => (await leased()) === 0)
    const budget = { nanoUsd: amount, period: 'total' as const }
    const [state] = await processes[1]!.states([{ accountId: 'acc_1', ownerId: 'acc_1', budget }])
    expect(state!.left.nano_usd).to.equal(amount - cost)
  })

  it('are returned to a call of their own process that needs all that is left', async () => {
    const cost = await lease(0)
    const { held } = await reserve(0, amount - cost)
    expect(await windows()).to.deep.equal(both(cost, amount - cost))
    await held.release()
    expect(await windows()).to.deep.equal(both(cost, 0))
  })

  it('of an amount that was lowered are not used any more', async () => {
    const cost = await lease(0)
    for (let tries = 0; tries < 3; tries++) {
      const error = await reserve(0, 100, cost + 99).catch((thrown: GatewayError) => thrown)
      expect(error).to.include({ code: 'insufficient_quota' })
    }
  })

  it('keep what a call costs until its row has left the journal', async () => {
    const cost = await lease(0)
    journaled = 1
    await call(0, 100, 7)
    expect(marks[0]!.count()).to.equal(1)
    journaled = 0
    await until('the call has ended', () => marks[0]!.count() === 0)
    await until('the idle lease is returned', async () => (await leased()) === 0)
    expect(await windows()).to.deep.equal(both(cost + 7, 0))
  })

  it('are not used by a call that counts in the budget of a tag', async () => {
    const cost = await lease(0)
    const budget = { nanoUsd: amount, period: 'month' as const }
    const tagBudgets = new Map([['team', { ...unlimited('key_1#team'), budget }]])
    const caller = { ...callerWith(amount), tagBudgets }
    const tagged = { ...askedCall, caller, tags: ['team'], timeoutMs: 60_000, at: Date.now() }
    const held = await processes[0]!.reserve({ ...tagged, requestId: 'req_tagged', nanoUsd: 100 })
    const [account, key] = both(cost, 100)
    const tag = { owner_id: 'key_1#team', spent: 0, reserved: 100 }
    expect(await windows()).to.deep.equal([account, key, tag])
    await held.release()
  })

  it('are not needed for windows to be folded, since older gateways have none', async () => {
    const older = createBudgets({ store: stores[1]!, clock: Date.now, limits })
    for (let calls = 0; calls < 12; calls++) {
      const at = Date.now()
      const asked = { ...askedCall, caller: callerWith(amount), timeoutMs: 60_000, at }
      const requestId = `req_${calls}`
      const held = await older.reserve({ ...asked, requestId, nanoUsd: 100 })
      await held.settle(9, () => stores[1]!.insert('usage', [row(requestId, at, 9)]))
    }
    const { rows } = await sql<{ deltas: number }>`
      select cast(count(*) as bigint) as deltas from budget_deltas`.execute(db())
    // In each window what the last call has reserved, released and spent.
    expect(rows[0]!.deltas).to.be.at.most(6)
    expect(await windows()).to.deep.equal(both(12 * 9, 0))
  })

  it('are not reserved in an export, which has none', async () => {
    const cost = await lease(0)
    const file = join(folder.path, 'export.jsonl')
    await exportStore({ store: stores[0]!, dataDir: folder.path, file, replaces: true })
    const lines = readFileSync(file, 'utf8').split('\n')
    const at = lines.findIndex((line) => line.startsWith('{"table":"budget_windows"'))
    const [{ columns }, ...rows] = lines.slice(at, at + 3).map((line) => JSON.parse(line))
    expect(columns.slice(-2)).to.deep.equal(['spent_nano_usd', 'reserved_nano_usd'])
    expect(rows.map((one: unknown[]) => one.slice(-2))).to.deep.equal([
      [cost, 0],
      [cost, 0],
    ])
  })

  it('charge a call of unknown cost what it held', async () => {
    const cost = await lease(0)
    await call(0, 100, null)
    expect(await windows()).to.deep.equal(both(cost + 100, 0))
  })

  for (const isEarlier of [false, true])
    it(`of a dead process ${isEarlier ? 'stay when its machine has started since' : 'return'}, and its calls are charged what they hold`, async () => {
      const cost = await lease(0)
      const { held } = await reserve(0, 100)
      await reserve(0, 100)
      // A call that ended without a row is not charged.
      await held.release()
      expect(await windows()).to.deep.equal(both(cost, 0))
      expect(await leased()).to.be.at.least(200)
      const left = marks[0]!.touch()!
      const later = openCallMarks(folder.path)
      // Removes nothing, since a call is marked; then the process counts as ended.
      marks[0]!.close()
      if (isEarlier) utimesSync(join(folder.path, left), 0, 0)
      const sweep = sweepReservations({
        store: stores[1]!,
        budgets: processes[1]!,
        clock: Date.now,
        intervalMs: 60_000,
        marks: later,
        onUnknown: () => undefined,
        onAbandoned: () => undefined,
        onSwept: () => undefined,
      })
      await sweep.look()
      sweep.close()
      later.close()
      const rows = await db()
        .selectFrom('budget_leases')
        .select('process')
        .where('process', '=', left)
        .execute()
      expect(rows).to.have.length(isEarlier ? 2 : 0)
      expect(await windows()).to.deep.equal(both(cost + 100, 0))
    })

  it('that no process has renewed for a day count as spent', async () => {
    const cost = await lease(0)
    const { held } = await reserve(0, 100)
    await held.release()
    await processes[0]!.leases.close()
    const lost = {
      process: 'lost',
      renewals: 1,
      nano_usd: 300,
      renewed_at: Date.now() - 86_500_000,
    }
    const [window] = await db()
      .selectFrom('budget_windows')
      .selectAll()
      .where('owner_id', '=', 'acc_1')
      .execute()
    const { owner_id, ends_at, starts_at } = window!
    await db()
      .insertInto('budget_leases')
      .values({ owner_id, ends_at, starts_at, ...lost })
      .execute()
    await foldDeltas(db())
    expect(await leased()).to.equal(0)
    const [account, key] = both(cost, 0)
    expect(await windows()).to.deep.equal([{ ...account, spent: cost + 300 }, key])
  })

  // What calls hold is exactly what they cost in the last case, so that its sum is exact at each moment.
  for (const [count, inFull] of [[1], [2], [4], [4, true]] as const)
    it(`never exceed the budget with ${count} processes${inFull ? ' that pay in full' : ''}, and leave nothing`, async () => {
      const of = 60_000
      const chance = chanceFrom(count)
      const codes = new Map<string, number>()
      let [spent, holds, most] = [0, 0, 0]
      const work = async (index: number) => {
        for (let calls = 0; calls < 60; calls++) {
          const nanoUsd = 50 + chance.below(200)
          const cost = inFull ? nanoUsd : chance.below(nanoUsd)
          const code = await reserve(index, nanoUsd, of).then(
            async (one) => {
              holds += nanoUsd
              most = Math.max(most, spent + holds)
              // Before the row is written: from then on another process may take what the call leaves.
              holds -= nanoUsd
              spent += cost
              await settle(index, one, cost)
              return 'ok'
            },
            (error: GatewayError) => error.code,
          )
          codes.set(code, (codes.get(code) ?? 0) + 1)
        }
      }
      await Promise.all(Array.from({ length: 16 }, (_, at) => work(at % count)))
      expect(most).to.be.at.most(of)
      expect([...codes.keys()].toSorted()).to.deep.equal(['insufficient_quota', 'ok'])
      for (const one of processes) expect(await one.leases.close()).to.equal(true)
      expect(await leased()).to.equal(0)
      expect(await windows()).to.deep.equal(both(spent, 0))
      await foldDeltas(db())
      expect(await windows()).to.deep.equal(both(spent, 0))
    })
})
