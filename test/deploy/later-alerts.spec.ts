import { sql } from 'kysely'
import { completion, streamed } from '../support/chat-answers.ts'
import { expectFiring } from '../support/deploy/firing-alerts.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { metric } from '../support/metric.ts'
import { startOwnEndpoint } from '../support/own-endpoint.ts'
import { programPath } from '../support/program-path.ts'
import { until } from '../support/until.ts'

/** Readings in ten minutes, with one before and two after them. */
const tenMinutes = 23

const expected = ([alert]: readonly string[]) => (alert ? `are ${alert}` : 'are silent')

describe('the alerts whose time a test sets', () => {
  before(function () {
    programPath('promtool', this)
  })
  const limits = { cache_ttl_seconds: 0 }
  const read = async (gateway: TestGateway) =>
    (await gateway.fetch('/metrics', { key: null })).text()

  // promtool's first reading is at Unix time 0.
  for (const [day, alerts] of [
    ['1970-01-30', ['GatewayModelRetires']],
    ['1970-02-02', []],
  ] as const)
    it(`${expected(alerts)} on 1970-01-01 for a model that retires on ${day}`, async () => {
      await using gateway = await startGateway({ clock: () => Math.floor(performance.now()) })
      const pricing = { input_per_million_tokens: '1', output_per_million_tokens: '1' }
      const catalog = { 'openai/old': { pricing, deactivated_at: day } }
      await gateway.reload({ catalog, aliases: { house: 'openai/old' } })
      await until('the model is in the metric', async () =>
        (await read(gateway)).includes('gateway_model_retirement_timestamp_seconds{'),
      )
      const page = await read(gateway)
      await expectFiring([page, page, page], alerts)
    })

  for (const [seconds, alerts] of [
    [25, ['GatewayStreamsBeginLate']],
    [15, []],
  ] as const)
    it(`${expected(alerts)} for streams that begin after ${seconds} seconds`, async () => {
      let waitedMs = 0
      const monotonic = () => performance.now() + waitedMs
      await using own = await startOwnEndpoint({ monotonic, limits })
      const pages: string[] = []
      // The quantile is one of ten minutes, and above the limit for ten more.
      for (let reading = 0; reading < 2 * tenMinutes; reading++) {
        const gate = Promise.withResolvers<void>()
        own.upstream.answer({ ...streamed(['Hi.']), after: gate.promise })
        const asked = own.upstream.requests.length
        const answer = own.chat({ stream: true })
        await until('the vendor is asked', () => own.upstream.requests.length > asked)
        waitedMs += seconds * 1000
        gate.resolve()
        await (await answer).text()
        pages.push(await read(own.gateway))
      }
      await expectFiring(pages, alerts)
    })

  it('report an hour that costs four times the mean of the day', async () => {
    const pricing = { input_per_million_tokens: '200000', output_per_million_tokens: '0' }
    const catalog = { 'own/house-1': { pricing } }
    await using own = await startOwnEndpoint({ file: { catalog }, limits })
    // One call costs 1.80 dollars.
    own.upstream.answer(completion('Hi.'))
    const pages: string[] = []
    for (let call = 0; call < 9; call++) {
      await (await own.chat({})).text()
      pages.push(await read(own.gateway))
    }
    await expectFiring(pages.slice(0, 5), [])
    await expectFiring(pages, ['GatewayCostRises'])
  })

  it('report many sign-ins with a wrong password', async () => {
    let now = Date.parse('2026-11-22T12:00:00Z')
    await using gateway = await startGateway({
      clock: () => now,
      file: { trusted_proxies: ['127.0.0.1'] },
    })
    const quiet = await read(gateway)
    const guess = async (at: number) => {
      const body = { email: `ada-${at}@example.com`, password: 'a wrong horse' }
      const headers = { 'x-forwarded-for': `198.51.100.${at}` }
      await (await gateway.post('/api/sessions', body, { key: null, headers })).text()
    }
    for (let at = 0; at < 60; at++) {
      await guess(at)
      now += 60_000
    }
    const after = await read(gateway)
    await expectFiring([quiet, ...Array<string>(4).fill(after)], ['GatewaySignInsFail'])
  })

  it('report background work that fails again and again', async () => {
    let now = Date.parse('2026-11-22T12:00:00Z')
    await using own = await startOwnEndpoint({ clock: () => now })
    const failures = () =>
      metric(own.gateway, 'gateway_background_failures_total{work="sum_folding"}')
    own.upstream.answer(completion('Hi.'))
    await (await own.chat()).text()
    await sql`drop table usage_sums`.execute(own.gateway.db)
    now += 3_600_000
    const pages: string[] = []
    for (let seen = 0; pages.length < 3; seen = await failures()) {
      await until('it fails', async () => (await failures()) > seen)
      pages.push(await read(own.gateway))
    }
    const [first, second, third] = pages as [string, string, string]
    const minutes = (count: number, page: string) => Array<string>(2 * count).fill(page)
    const begun = [...minutes(5, first), ...minutes(10, second)]
    await expectFiring(begun, [])
    await expectFiring([...begun, ...minutes(10, third)], ['GatewayBackgroundWorkFails'])
  })
})
