import { expect } from 'chai'
import { sql } from 'kysely'
import { forEachStore } from '../support/each-store.ts'
import { startGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

/** Background work, its interval, and a table without which the work fails. */
const works = [
  { work: 'oauth_sweep', bounds: { oauthSweepMs: 100 }, table: 'oauth_clients' },
  { work: 'connection_log', bounds: { keyUseWriteMs: 100 }, table: 'refused_attempts' },
  { work: 'connection_log', bounds: { keyUseWriteMs: 100 }, table: 'key_clients' },
] as const

forEachStore('background work', () => {
  for (const { work, bounds, table } of works) {
    it(`is logged at its first failure and at its recovery, and counted at each failure: ${work}, ${table}`, async () => {
      const gateway = await startGateway({ bounds })
      const logged = (text: string) => gateway.logText().split(text).length - 1
      const counted = new RegExp(
        `^gateway_background_failures_total\\{work="${work}"\\} (\\d+)$`,
        'm',
      )
      const failures = async () => {
        // Makes a refused attempt, which the connection log records.
        await (await gateway.fetch('/v1/models', { key: 'wrong' })).text()
        const text = await (await gateway.fetch('/metrics')).text()
        return Number(counted.exec(text)?.[1] ?? 0)
      }
      const rename = (from: string, to: string) =>
        sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(gateway.db)
      try {
        expect(await failures()).to.equal(0)
        await rename(table, 'away')
        try {
          await until('it fails again', async () => (await failures()) >= 2)
        } finally {
          await rename('away', table)
        }
        expect(logged('background work failed')).to.equal(1)
        await until('it is done again', async () => {
          await failures()
          return logged('background work succeeds again') === 1
        })
        expect(logged('background work failed')).to.equal(1)
      } finally {
        await gateway.stop()
      }
      expect(logged('background work failed')).to.equal(1)
    })
  }
})
