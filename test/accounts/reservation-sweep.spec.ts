import { hostname } from 'node:os'
import { expect } from 'chai'
import { sql } from 'kysely'
import { clocksDifferMaxMs } from '../../src/core/time.ts'
import { createBudgets, type Budgets } from '../../src/accounts/budgets.ts'
import { sweepReservations } from '../../src/accounts/reservation-sweep.ts'
import type { Sweep } from '../../src/accounts/sweep.ts'
import { openJournal } from '../../src/storage/journal.ts'
import { replay } from '../../src/storage/replay.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { askedCall, callerOf, unlimited } from '../support/callers.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openGuardedStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'
import { forEachStore } from '../support/each-store.ts'

const hourMs = 3_600_000
const limits = { ledgerGroupRowsMax: 100, ledgerGroupPauseMaxMs: 0, budgetWaitMaxMs: 20 }
const budget = { nanoUsd: 1000, period: 'total' as const }
const caller = callerOf({
  allowances: [unlimited('acc_1'), { ...unlimited('key_1'), budget }],
})

const noMarks = { takeLeft: async () => undefined }

forEachStore('the reservation of a dead process', () => {
  let folder: TemporaryFolder
  let store: GuardedStore
  let now: number
  let sweep: Sweep
  const abandoned: string[] = []
  const failures: unknown[] = []
  const onSwept = (error?: unknown) => void (error === undefined || failures.push(error))
  const start = (): Budgets => createBudgets({ store, clock: () => now, limits })
  const sweepOf = (budgets: Budgets) =>
    sweepReservations({
      store,
      budgets,
      marks: noMarks,
      clock: () => now,
      intervalMs: 60_000,
      onAbandoned: ({ request_id: id }) => void abandoned.push(id),
      onUnknown: () => undefined,
      onSwept,
    })
  const reserve = (budgets: Budgets, requestId: string) =>
    budgets.reserve({ caller, requestId, at: now, timeoutMs: 1000, ...askedCall, nanoUsd: 10 })
  const held = async () =>
    (await store.db.selectFrom('reservations').select('request_id').execute()).map(
      (row) => row.request_id,
    )
  const kept = () => store.db.selectFrom('usage').selectAll().execute()
  /** Expects this sum in the open window, in a newly opened window and in `usage_hours`. */
  const expectSpent = async (budgets: Budgets, nanoUsd: number) => {
    const ask = () => budgets.states([{ accountId: 'acc_1', ownerId: 'key_1', budget }])
    for (const isNew of [false, true]) {
      if (isNew) await store.db.deleteFrom('budget_windows').execute()
      const [state] = await ask()
      expect([state!.reserved.nano_usd, state!.spent.nano_usd]).to.deep.equal([0, nanoUsd])
    }
  }
  /** Inserts a reservation of a process on this machine that has ended. */
  const reserveDead = async (budgets: Budgets) => {
    await reserve(budgets, 'req_dead')
    // No system has processes of that number.
    const process = `${hostname()} 999999999 any`
    await store.db.updateTable('reservations').set({ process }).execute()
  }
  const late = (cost: number | null) => ({
    ...usageRow('req_dead', now),
    mode: 'live' as const,
    outcome: 'ok',
    cost_nano_usd: cost,
    cost_status: cost === null ? 'unknown' : 'exact',
  })
  beforeEach(async () => {
    now = 1_800_000_000_000
    abandoned.length = 0
    folder = makeFolder()
    store = await openGuardedStore(folder.path)
  })
  afterEach(async () => {
    sweep.close()
    await store.close()
    folder.remove()
    expect(failures).to.deep.equal([])
  })

  it('is charged and reported at the second sweep after its deadline', async () => {
    await reserve(start(), 'req_dead')
    const after = start()
    sweep = sweepOf(after)
    await sweep.look()
    now += 30_000
    await sweep.look()
    await sweep.look()
    expect(await held()).to.deep.equal(['req_dead'])
    now += 31_001
    await sweep.look()
    await sweep.look()
    expect(await held()).to.deep.equal(['req_dead'])
    now += clocksDifferMaxMs
    await sweep.look()
    expect(await held()).to.deep.equal(['req_dead'])
    await sweep.look()
    expect(await held()).to.deep.equal([])
    expect(abandoned).to.deep.equal(['req_dead'])
    await expectSpent(after, 10)
  })

  it('is charged at the first sweep when its process on this machine has ended', async () => {
    const budgets = start()
    sweep = sweepOf(budgets)
    // No system has processes of that number.
    const processes = [`${hostname()} 999999999 any`, 'elsewhere 1 any', null]
    for (const [index, process] of processes.entries()) {
      await reserve(start(), `req_${index}`)
      const update = store.db.updateTable('reservations').set({ process })
      await update.where('request_id', '=', `req_${index}`).execute()
    }
    await reserve(start(), 'req_own')
    await sweep.look()
    expect((await held()).toSorted()).to.deep.equal(['req_1', 'req_2', 'req_own'])
    expect(abandoned).to.deep.equal(['req_0'])
  })

  it('becomes a ledger row with an unknown outcome and the held amount', async () => {
    const budgets = start()
    await reserveDead(budgets)
    sweep = sweepOf(start())
    await sweep.look()
    await sweep.look()
    const [row, ...others] = await kept()
    expect(others).to.deep.equal([])
    expect(row).to.include({ id: 'req_dead', at: now, key_id: 'key_1', mode: 'live', model: 'm' })
    expect(row).to.include({ face: 'chat', modality: 'chat', outcome: 'unknown', provider: null })
    expect(row).to.include({ cost_nano_usd: 10, cost_status: 'unknown', attempts: '[]' })
    expect(row!.pricing).to.equal('{"prices":{"held":"0.00000001"}}')
    await expectSpent(start(), 10)
  })

  it('of an older version is released without a row', async () => {
    await reserveDead(start())
    await store.db.updateTable('reservations').set({ model: null }).execute()
    sweep = sweepOf(start())
    await sweep.look()
    expect(await held()).to.deep.equal([])
    expect(await kept()).to.deep.equal([])
    expect(abandoned).to.deep.equal(['req_dead'])
  })

  it('is charged once when the row of its call arrives before the sweep', async () => {
    await reserveDead(start())
    await store.insert('usage', [late(7)])
    sweep = sweepOf(start())
    await sweep.look()
    expect(await kept()).to.deep.equal([late(7)])
    expect(abandoned).to.deep.equal([])
    await expectSpent(start(), 7)
  })

  it('is charged once when the row of its call arrives twice after the sweep', async () => {
    await reserveDead(start())
    sweep = sweepOf(start())
    await sweep.look()
    for (const others of [[usageRow('req_other', now)], []]) {
      await store.insert('usage', [...others, late(7)])
      expect((await kept()).find(({ id }) => id === 'req_dead')).to.deep.equal(late(7))
    }
    expect(await kept()).to.have.length(2)
    await expectSpent(start(), 7)
    const { rows } = await sql`select mode, cast(sum(calls) as bigint) as calls
      from usage_hours group by mode`.execute(store.db)
    expect(rows).to.have.deep.members([
      { mode: 'live', calls: 1 },
      { mode: 'test', calls: 1 },
    ])
  })

  it('stays charged when the row of its call has no cost either', async () => {
    await reserveDead(start())
    sweep = sweepOf(start())
    await sweep.look()
    await store.insert('usage', [late(null)])
    await expectSpent(start(), 10)
  })

  it('is corrected by a journal that is found later', async () => {
    await reserveDead(start())
    sweep = sweepOf(start())
    await sweep.look()
    const left = makeFolder()
    const options = { folder: left.path, bytesMax: 100_000, flushes: false }
    const journal = await openJournal(options)
    await journal.append([['usage', late(7)]])
    const events = { rowRefused: () => expect.fail('a row was refused') }
    await replay({ store, journal, events, rowsMax: 10 })
    await journal.close()
    left.remove()
    expect(await kept()).to.deep.equal([late(7)])
    await expectSpent(start(), 7)
  })

  for (const differenceMs of [60_000, -60_000, clocksDifferMaxMs]) {
    it(`is not charged for a running call of a process whose clock is ${differenceMs / 1000} s ahead`, async () => {
      const elsewhere = createBudgets({ store, clock: () => now + differenceMs, limits })
      sweep = sweepReservations({
        store,
        budgets: elsewhere,
        marks: noMarks,
        clock: () => now + differenceMs,
        intervalMs: 10_000,
        onAbandoned: ({ request_id: id }) => void abandoned.push(id),
        onUnknown: () => undefined,
        onSwept,
      })
      const budgets = start()
      const own = sweepReservations({
        store,
        budgets,
        marks: noMarks,
        clock: () => now,
        intervalMs: 10_000,
        onAbandoned: ({ request_id: id }) => void abandoned.push(id),
        onUnknown: () => undefined,
        onSwept,
      })
      const call = await reserve(budgets, 'req_running')
      const endsAt = now + 200_000
      while (now < endsAt) {
        now += 10_000
        await sweep.look()
        await own.look()
      }
      expect(await held()).to.deep.equal(['req_running'])
      expect(abandoned).to.deep.equal([])
      await call.settle(0, async () => undefined)
      own.close()
      // The sweep releases the reservation, because the process that made the reservation has ended.
      now += 2 * clocksDifferMaxMs + 20_000
      await sweep.look()
      await sweep.look()
      expect(await held()).to.deep.equal([])
      expect(abandoned).to.deep.equal(['req_running'])
    })
  }

  it('is not charged for a running call when the clock jumps', async () => {
    const [one, other] = [start(), start()]
    await reserve(one, 'req_running')
    sweep = sweepOf(other)
    const own = sweepOf(one)
    for (const jump of [hourMs, -hourMs, hourMs, hourMs, -hourMs]) {
      now += jump
      await sweep.look()
      await own.look()
      await sweep.look()
      await own.look()
    }
    own.close()
    expect(await held()).to.deep.equal(['req_running'])
    expect(abandoned).to.deep.equal([])
  })
})
