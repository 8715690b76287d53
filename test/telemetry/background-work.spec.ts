import { expect } from 'chai'
import { sql } from 'kysely'
import { forEachStore } from '../support/each-store.ts'
import { startGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

forEachStore('work that nobody waits for', () => {
  it('is told of once when it fails, is counted each time, and is told of when it is done again', async () => {
    const gateway = await startGateway({ file: { limits: { oauth_sweep_ms: 100 } } })
    const told = (text: string) => gateway.logText().split(text).length - 1
    const failures = async () => {
      const text = await (await gateway.fetch('/metrics')).text()
      const [, count] =
        /^gateway_background_failures_total\{work="oauth_sweep"\} (\d+)$/m.exec(text) ?? []
      return Number(count ?? 0)
    }
    try {
      expect(await failures()).to.equal(0)
      await sql`alter table oauth_clients rename to oauth_clients_away`.execute(gateway.db)
      try {
        await until('it fails again', async () => (await failures()) >= 2)
      } finally {
        await sql`alter table oauth_clients_away rename to oauth_clients`.execute(gateway.db)
      }
      expect(told('background work fails')).to.equal(1)
      await until('it is done again', () => told('background work is done again') === 1)
      expect(told('background work fails')).to.equal(1)
    } finally {
      await gateway.stop()
    }
    expect(told('background work fails')).to.equal(1)
  })
})
