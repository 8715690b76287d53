import { expect } from 'chai'
import { sql } from 'kysely'
import { forEachStore } from '../support/each-store.ts'
import { startGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

/** Work, how often it is done, and a table that it needs; the log of connections cleans up in the other one. */
const works = [
  { work: 'oauth_sweep', bounds: { oauthSweepMs: 100 }, table: 'oauth_clients' },
  { work: 'connection_log', bounds: { keyUseWriteMs: 100 }, table: 'refused_attempts' },
  { work: 'connection_log', bounds: { keyUseWriteMs: 100 }, table: 'key_clients' },
] as const

forEachStore('work that nobody waits for', () => {
  for (const { work, bounds, table } of works) {
    it(`is told of once when it fails, is counted each time, and is told of when it is done again: ${work}, ${table}`, async () => {
      const gateway = await startGateway({ bounds })
      const told = (text: string) => gateway.logText().split(text).length - 1
      const counted = new RegExp(
        `^gateway_background_failures_total\\{work="${work}"\\} (\\d+)$`,
        'm',
      )
      const failures = async () => {
        // Something to note.
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
        expect(told('background work failed')).to.equal(1)
        await until('it is done again', async () => {
          await failures()
          return told('background work succeeds again') === 1
        })
        expect(told('background work failed')).to.equal(1)
      } finally {
        await gateway.stop()
      }
      expect(told('background work failed')).to.equal(1)
    })
  }
})
