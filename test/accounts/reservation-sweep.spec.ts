import { hostname } from 'node:os'
import { expect } from 'chai'
import { clocksDifferMaxMs } from '../../src/core/time.ts'
import { createBudgets, type Budgets } from '../../src/accounts/budgets.ts'
import { sweepReservations } from '../../src/accounts/reservation-sweep.ts'
import type { Sweep } from '../../src/accounts/sweep.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { callerOf, unlimited } from '../support/callers.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openGuardedStore } from '../support/store.ts'
import { forEachStore } from '../support/each-store.ts'

const hourMs = 3_600_000
const limits = { ledgerGroupRowsMax: 100, ledgerGroupPauseMaxMs: 0 }
const budget = { nanoUsd: 1000, period: 'total' as const }
const caller = callerOf({
  allowances: [unlimited('acc_1'), { ...unlimited('key_1'), budget }],
})

forEachStore('what calls of dead processes hold', () => {
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
      clock: () => now,
      intervalMs: 60_000,
      onAbandoned: ({ request_id: id }) => void abandoned.push(id),
      onSwept,
    })
  const reserve = (budgets: Budgets, requestId: string) =>
    budgets.reserve({ caller, requestId, at: now, timeoutMs: 1000, nanoUsd: 10 })
  const held = async () =>
    (await store.db.selectFrom('reservations').select('request_id').execute()).map(
      (row) => row.request_id,
    )
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

  it('comes back after its deadline, once it was seen twice, and is told', async () => {
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
    const [state] = await after.states([{ accountId: 'acc_1', ownerId: 'key_1', budget }])
    expect([state!.reserved.nano_usd, state!.left.nano_usd]).to.deep.equal([0, 1000])
  })

  it('comes back at the first look when its process on this machine has ended', async () => {
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

  for (const differenceMs of [60_000, -60_000, clocksDifferMaxMs]) {
    it(`is not that of a call that goes on where a clock is ${differenceMs / 1000} s ahead`, async () => {
      const elsewhere = createBudgets({ store, clock: () => now + differenceMs, limits })
      sweep = sweepReservations({
        store,
        budgets: elsewhere,
        clock: () => now + differenceMs,
        intervalMs: 10_000,
        onAbandoned: ({ request_id: id }) => void abandoned.push(id),
        onSwept,
      })
      const budgets = start()
      const own = sweepReservations({
        store,
        budgets,
        clock: () => now,
        intervalMs: 10_000,
        onAbandoned: ({ request_id: id }) => void abandoned.push(id),
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
      call.settled()
      own.close()
      // Its process died: what it held comes back.
      now += 2 * clocksDifferMaxMs + 20_000
      await sweep.look()
      await sweep.look()
      expect(await held()).to.deep.equal([])
      expect(abandoned).to.deep.equal(['req_running'])
    })
  }

  it('is not that of a call under way, whatever the clock does', async () => {
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
