import { expect } from 'chai'
import { createAudit, signalActor, sweepAudit } from '../../src/accounts/audit.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'

const dayMs = 86_400_000

forEachStore('audit events', () => {
  for (const [days, left] of [
    [0, [1, 40, 400]],
    [40, [1, 40]],
  ] as const) {
    it(`with audit_event_days ${days} are kept so long`, async () => {
      const folder = makeFolder()
      const store = await openTestStore(folder.path)
      const now = Date.UTC(2026, 5)
      try {
        for (const age of [1, 40, 400]) {
          const audit = createAudit(store, () => now - age * dayMs)
          const act = {
            account_id: 'acc_1',
            action: 'settings.update',
            target: String(age),
          } as const
          await store.db
            .transaction()
            .execute((transaction) => audit.write(transaction, signalActor, act))
        }
        const failures: unknown[] = []
        const onSwept = (error?: unknown) => void (error !== undefined && failures.push(error))
        const limits = { auditEventDays: days }
        const sweep = sweepAudit({ store, clock: () => now, limits, onSwept })
        await sweep.look()
        sweep.close()
        const kept = await store.db.selectFrom('audit_events').select('target').execute()
        expect(kept.map(({ target }) => Number(target)).toSorted((a, b) => a - b)).to.deep.equal(
          left,
        )
        expect(failures).to.deep.equal([])
      } finally {
        await store.close()
        folder.remove()
      }
    })
  }
})
