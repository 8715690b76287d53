import { expect } from 'chai'
import fc from 'fast-check'
import type { components } from '../../generated/types.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { usageRow } from '../support/usage-row.ts'

const at = Date.parse('2026-11-20T12:00:00Z')

forEachStore('the latency of calls', () => {
  let gateway: TestGateway
  before(async () => void (gateway = await startGateway()))
  after(() => gateway.stop())

  const inNewAccount = async () => {
    const accountId = await gateway.createAccount()
    const key = await gateway.createKey('live', { accountId, scopes: ['usage:read'] })
    let rows = 0
    return {
      add: (durations: readonly number[], more: object = {}) =>
        gateway.addUsage(
          durations.map((duration_ms) => ({
            ...usageRow(`req_${accountId}_${(rows += 1)}`, at + rows),
            account_id: accountId,
            mode: 'live',
            provider: 'openai',
            duration_ms,
            ...more,
          })),
        ),
      get: (query: Record<string, string> = {}) =>
        gateway.fetch(
          `/api/usage/latency?${new URLSearchParams({ from: '2026-11-20', to: '2026-11-21', ...query }).toString()}`,
          { key },
        ),
    }
  }
  const read = async (answer: Promise<Response>) =>
    (await (await answer).json()) as components['schemas']['LatencyReport']

  it('is the nearest-rank median and 95th percentile', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat(100_000), { minLength: 1, maxLength: 60 }), async (all) => {
        const { add, get } = await inNewAccount()
        await add(all)
        const sorted = all.toSorted((a, b) => a - b)
        const nearest = (percent: number) => sorted[Math.ceil((percent * all.length) / 100) - 1]
        expect(await read(get())).to.include({
          calls: all.length,
          median_ms: nearest(50),
          p95_ms: nearest(95),
          is_whole: true,
        })
      }),
      { numRuns: 10 },
    ))

  it('leaves out calls that no provider answered, and of other modes, models and providers', async () => {
    const { add, get } = await inNewAccount()
    await add([10])
    await add([1000], { outcome: 'failed', error_code: 'timeout' })
    await add([1], { provider: null, cache: 'hit' })
    await add([2000], { mode: 'test' })
    await add([30], { model: 'slow', provider: 'other' })
    expect(await read(get())).to.include({ calls: 2, median_ms: 10, p95_ms: 30 })
    expect(await read(get({ model: 'slow' }))).to.include({ calls: 1, median_ms: 30 })
    expect(await read(get({ provider: 'other' }))).to.include({ calls: 1, median_ms: 30 })
    expect(await read(get({ mode: 'test' }))).to.include({ calls: 1, p95_ms: 2000 })
    const none = await read(get({ from: '2026-11-21', to: '2026-11-22' }))
    expect(none).to.include({ calls: 0, median_ms: null, p95_ms: null, is_whole: true })
  })

  it('is of the 10,000 newest calls', async function () {
    this.timeout(60_000)
    const { add, get } = await inNewAccount()
    await add(Array.from({ length: 9_999 }, () => 5))
    await add([1])
    expect(await read(get())).to.include({ calls: 10_000, is_whole: true })
    await add([2])
    expect(await read(get())).to.include({ calls: 10_000, p95_ms: 5, is_whole: false })
  })

  it('refuses a time that is none', async () => {
    const { get } = await inNewAccount()
    await expectError(await get({ from: 'yesterday' }), {
      status: 400,
      code: 'invalid_value',
      param: 'from',
    })
  })
})
