import { readdirSync, readFileSync, renameSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { createBudgets } from '../../src/accounts/budgets.ts'
import { sweepReservations } from '../../src/accounts/reservation-sweep.ts'
import type { Sweep } from '../../src/accounts/sweep.ts'
import { openCallMarks, type CallMarks } from '../../src/storage/call-marks.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openGuardedStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

const now = 1_800_000_000_000
const limits = { ledgerGroupRowsMax: 100, ledgerGroupPauseMaxMs: 0, budgetWaitMaxMs: 20 }

forEachStore('the mark of a call of a dead process', () => {
  let folder: TemporaryFolder
  let store: GuardedStore
  let marks: CallMarks
  let sweep: Sweep
  let own: string[]
  let unknown: string[]
  const failures: unknown[] = []
  const mark = (id: string) => {
    const who = { account_id: 'acc_1', key_id: 'key_1' }
    return { id, at: now, ...who, face: 'chat', modality: 'chat', model: 'm' }
  }
  const late = (id: string, cost: number) => {
    const settled = { cost_nano_usd: cost, cost_status: 'exact', attempts: '[{}]' }
    return { ...usageRow(id, now), mode: 'live' as const, ...settled }
  }
  const kept = () => store.db.selectFrom('usage').selectAll().orderBy('id').execute()
  const isMarks = (name: string) => name.startsWith('gateway.calls-')
  const files = () => readdirSync(folder.path).filter(isMarks)
  /** Leaves the marks of a process on this machine that has ended; no system has processes of that number. */
  const leaveDead = (...left: ReturnType<typeof mark>[]) => {
    const dead = openCallMarks(folder.path)
    for (const one of left) dead.set(one)
    const name = files().find((file) => !own.includes(file))!
    const renamed = name.replace(`-${process.pid}-`, '-999999999-')
    renameSync(join(folder.path, name), join(folder.path, renamed))
  }
  beforeEach(async () => {
    folder = makeFolder()
    store = await openGuardedStore(folder.path)
    marks = openCallMarks(folder.path)
    own = files()
    unknown = []
    sweep = sweepReservations({
      store,
      marks,
      budgets: createBudgets({ store, clock: () => now, limits }),
      clock: () => now,
      intervalMs: 60_000,
      onAbandoned: () => undefined,
      onUnknown: ({ id }) => void unknown.push(id),
      onSwept: (error) => void (error === undefined || failures.push(error)),
    })
    await sweep.look()
  })
  afterEach(async () => {
    sweep.close()
    marks.close()
    await store.close()
    folder.remove()
    expect(failures).to.deep.equal([])
  })

  it('becomes a row of unknown cost, and its file goes', async () => {
    leaveDead(mark('req_dead'))
    await sweep.look()
    const [row, ...others] = await kept()
    expect(others).to.deep.equal([])
    expect(row).to.include({ id: 'req_dead', at: now, mode: 'live', outcome: 'unknown' })
    expect(row).to.include({ cost_nano_usd: null, cost_status: 'unknown', attempts: '[]' })
    expect(unknown).to.deep.equal(['req_dead'])
    expect(files()).to.deep.equal(own)
  })

  it('is not used when the call has a row, and replaced when its row comes later', async () => {
    await store.insert('usage', [late('req_dead', 5)])
    leaveDead(mark('req_dead'), mark('req_late'))
    await sweep.look()
    expect(unknown).to.deep.equal(['req_late'])
    await store.insert('usage', [late('req_late', 7)])
    const rows = (await kept()).map(({ id, cost_nano_usd: cost }) => [id, Number(cost)])
    expect(rows).to.deep.equal([
      ['req_dead', 5],
      ['req_late', 7],
    ])
    const sums = store.db
      .selectFrom('usage_hours')
      .select(({ fn: { sum } }) => [
        sum('calls').as('calls'),
        sum('unpriced_calls').as('unpriced'),
        sum('cost_nano_usd').as('cost'),
      ])
    const { calls, unpriced, cost } = await sums.executeTakeFirstOrThrow()
    expect([calls, unpriced, cost].map(Number)).to.deep.equal([2, 0, 12])
  })

  it('is replaced by the row of its call also when the cost of the call is unknown', async () => {
    leaveDead(mark('req_late'))
    await sweep.look()
    const free = { ...late('req_late', 0), cost_nano_usd: null, cost_status: 'unknown' }
    await store.insert('usage', [free])
    const rows = (await kept()).map(({ id, outcome }) => [id, outcome])
    expect(rows).to.deep.equal([['req_late', 'ok']])
  })

  it('stays while its process runs, and goes when the call ends', async () => {
    const unmark = marks.set(mark('req_running'))
    expect(marks.count()).to.equal(1)
    await sweep.look()
    expect(await kept()).to.deep.equal([])
    unmark!()
    expect(marks.count()).to.equal(0)
    await sweep.look()
    const marked = readFileSync(join(folder.path, own[0]!))
    expect(marked[0]).to.equal(0)
  })

  it('of a process that did not run for a minute is taken, and the process goes on in a new file', async () => {
    const unmark = marks.set(mark('req_stopped'))
    const path = join(folder.path, own[0]!)
    const other = openCallMarks(folder.path)
    const elsewhere = path.replace(/-\d+-(\w+)$/, '-1-$1')
    renameSync(path, elsewhere)
    const longAgo = new Date(Date.now() - 61_000)
    utimesSync(elsewhere, longAgo, longAgo)
    const taken: string[] = []
    await other.takeLeft(async (marks) => void taken.push(...marks.map(({ id }) => id)))
    other.close()
    expect(taken).to.deep.equal(['req_stopped'])
    await sweep.look()
    unmark!()
    const [name, ...more] = files()
    expect([name === own[0], more.length]).to.deep.equal([false, 0])
    marks.set(mark('req_next'))
    expect(readFileSync(join(folder.path, name!), 'utf8')).to.match(/^req_next /)
  })
})
