import { expect } from 'chai'
import fc from 'fast-check'
import { windowAt } from '../../src/accounts/spendings.ts'
import { createBudgets } from '../../src/accounts/budgets.ts'
import type { Reservation } from '../../src/core/money/upper-cost.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { askedCall, callerOf, unlimited } from '../support/callers.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openGuardedStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'
import { forEachStore } from '../support/each-store.ts'

const periods = ['day', 'month', 'total'] as const
const hourMs = 3_600_000
const limits = { ledgerGroupRowsMax: 100, ledgerGroupPauseMaxMs: 0, budgetWaitMaxMs: 20 }

forEachStore('the windows of budgets', () => {
  it('are the UTC day and month that contain a time', () => {
    const at = fc.integer({ min: 0, max: 4_000_000_000_000 })
    fc.assert(
      fc.property(at, (time) => {
        const iso = new Date(time).toISOString()
        const [day, month] = [windowAt('day', time), windowAt('month', time)]
        expect(new Date(day.startsAt).toISOString()).to.equal(`${iso.slice(0, 10)}T00:00:00.000Z`)
        expect(new Date(month.startsAt).toISOString()).to.equal(
          `${iso.slice(0, 7)}-01T00:00:00.000Z`,
        )
        for (const [name, one] of Object.entries({ day, month })) {
          expect(one.startsAt <= time && time < one.endsAt).to.equal(true)
          const next = windowAt(name as 'day' | 'month', one.endsAt)
          expect(next.startsAt).to.equal(one.endsAt)
          expect(windowAt(name as 'day' | 'month', one.endsAt - 1)).to.deep.equal(one)
        }
      }),
    )
  })

  describe('in any order of calls, crashes and clock jumps', () => {
    let folder: TemporaryFolder
    let store: GuardedStore
    before(async () => {
      folder = makeFolder()
      store = await openGuardedStore(folder.path)
    })
    after(async () => {
      await store.close()
      folder.remove()
    })

    it('hold and spend the same as a simple model, and never more than the budget', async () => {
      const step = fc.oneof(
        fc.record({
          kind: fc.constant('reserve' as const),
          amount: fc.integer({ min: 1, max: 40 }),
        }),
        fc.record({ kind: fc.constant('settle' as const), which: fc.nat(9), share: fc.nat(100) }),
        fc.record({ kind: fc.constant('release' as const), which: fc.nat(9) }),
        fc.record({
          kind: fc.constant('jump' as const),
          hours: fc.constantFrom(-1, 1, 1, 20, 700),
        }),
        fc.record({ kind: fc.constant('period' as const), period: fc.constantFrom(...periods) }),
      )
      let run = 0
      const steps = fc.array(step, { minLength: 5, maxLength: 40 })
      await fc.assert(
        fc.asyncProperty(steps, async (all) => {
          const accountId = `acc_${++run}`
          const model = createModel(accountId, store)
          for (const one of all) await model.take(one)
        }),
        { numRuns: 25 },
      )
    })
  })
})

type Step =
  | { kind: 'reserve'; amount: number }
  | { kind: 'settle'; which: number; share: number }
  | { kind: 'release'; which: number }
  | { kind: 'jump'; hours: number }
  | { kind: 'period'; period: (typeof periods)[number] }
type Open = { id: string; at: number; amount: number; held: Reservation }

/** Calls of one account with a budget, and their expected sums. */
function createModel(accountId: string, store: GuardedStore) {
  const amount = 100
  let now = Date.parse('2026-01-31T12:00:00Z')
  let period: (typeof periods)[number] = 'day'
  let last = 0
  const open: Open[] = []
  const spent: { at: number; cost: number }[] = []
  const budgets = createBudgets({ store, clock: () => now, limits })
  const sum = (rows: readonly { at: number; amount?: number; cost?: number }[]) => {
    const { startsAt, endsAt } = windowAt(period, now)
    return rows
      .filter(({ at }) => at >= startsAt && at < endsAt)
      .reduce((total, one) => total + (one.amount ?? one.cost ?? 0), 0)
  }
  const allowance = () => ({ ...unlimited(accountId), budget: { nanoUsd: amount, period } })
  const reserve = async (nanoUsd: number) => {
    const requestId = `${accountId}_${++last}`
    const caller = callerOf({ accountId, allowances: [allowance(), unlimited('key_1')] })
    const mayPass = sum(spent) + sum(open) + nanoUsd <= amount
    const held = await budgets
      .reserve({ caller, requestId, at: now, timeoutMs: 1000, ...askedCall, nanoUsd })
      .catch(() => undefined)
    expect(held !== undefined).to.equal(mayPass)
    if (held !== undefined) open.push({ id: requestId, at: now, amount: nanoUsd, held })
  }
  const settle = async ({ id, at, amount: most, held }: Open, share: number) => {
    const cost = Math.floor((share / 100) * most)
    const paid = { mode: 'live', account_id: accountId, cost_nano_usd: cost }
    const row = { ...usageRow(id, at), ...paid }
    await store.commit(store.insertions('usage', [row]))
    // Inserts the row again, as a replay of the journal does.
    await store.commit(store.insertions('usage', [row], { unlessThere: true }))
    await held.settle(cost, async () => undefined)
    await held.release()
    spent.push({ at, cost })
  }
  const pick = (which: number) => open.splice(which % Math.max(1, open.length), 1)[0]
  const act = async (step: Step) => {
    if (step.kind === 'reserve') return reserve(step.amount)
    if (step.kind === 'jump') return void (now += step.hours * hourMs)
    if (step.kind === 'period') return void (period = step.period)
    const one = pick(step.which)
    if (one === undefined) return
    await (step.kind === 'settle' ? settle(one, step.share) : one.held.release())
  }
  return {
    take: async (step: Step) => {
      await act(step)
      const { budget } = allowance()
      const [state] = await budgets.states([{ accountId, ownerId: accountId, budget }])
      expect(state!.spent.nano_usd).to.equal(sum(spent))
      expect(state!.reserved.nano_usd).to.equal(sum(open))
    },
  }
}
