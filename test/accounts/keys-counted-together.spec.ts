import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { completion } from '../support/chat-answers.ts'
import { keyCalls } from '../support/key-calls.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'
import { forEachStore } from '../support/each-store.ts'

/** The cost of each call: a thousand output tokens at $2 per million. */
const costNanoUsd = 2_000_000
const tokens = { prompt_tokens: 0, completion_tokens: 1000, total_tokens: 1000 }

forEachStore('keys that are counted together', () => {
  let shared: OwnEndpoint
  let own: OwnEndpoint
  let first: string
  let calls: ReturnType<typeof keyCalls>
  let asked = 0
  before(async () => {
    shared = await startOwnEndpoint({
      file: { routes: { 'gpt-5-mini': ['own/house-1'] } },
      bounds: { keyCacheMs: 0 },
      // The clock stands still, so that all calls are in one minute and one day.
      clock: () => Date.parse('2026-11-22T12:00:00Z'),
    })
  })
  beforeEach(async () => {
    own = await shared.inNewAccount()
    own.upstream.answer({ ...completion('Hi.', { usage: tokens }), delayMs: 2 })
    calls = keyCalls(own.gateway)
    first = await own.gateway.createKey('live', { scopes: ['inference', 'keys:write'] })
  })
  after(() => shared.stop())

  const ask = async (key: string) => {
    const messages = [{ role: 'user', content: `hello ${asked++}` }]
    const body = { model: 'gpt-5-mini', messages, max_completion_tokens: 1000 }
    const answer = await own.gateway.post('/v1/chat/completions', body, { key })
    await answer.text()
    return answer.status
  }
  /** A key, keys that the key created, a key that one of these created, and replacements of keys. */
  const family = async (): Promise<string[]> => {
    const child = await calls.made(first, { mode: 'live', scopes: ['inference', 'keys:write'] })
    const grandchild = await calls.made(child.key, { mode: 'live' })
    const { id } = await calls.rowOf(first)
    const replaced = [
      await calls.rotated(first, grandchild.id),
      await calls.rotated(own.gateway.adminKey, id),
    ]
    const keys = [first, ...[child, grandchild, ...replaced].map(({ key }) => key)]
    keys.push((await calls.made(keys.at(-1)!, { mode: 'live' })).key)
    return keys
  }
  const statuses = async (keys: string[], each: number) => {
    const all = Array.from({ length: each }, () => keys).flat()
    return Map.groupBy(await Promise.all(all.map(ask)), (status) => status)
  }

  it('make together at most the calls per minute of the first key', async () => {
    await own.gateway.allow({ requests_per_minute: 7 }, first)
    const found = await statuses(await family(), 5)
    expect(found.get(200)).to.have.length(7)
    expect(found.get(429)).to.have.length(23)
    expect(own.upstream.requests).to.have.length(7)
  })

  it('have together at most the concurrent calls of the first key', async () => {
    await own.gateway.allow({ concurrency: 2 }, first)
    const keys = await family()
    own.upstream.answer({ ...completion('Hi.', { usage: tokens }), delayMs: 200 })
    const found = await statuses(keys, 2)
    expect(found.get(200)).to.have.length(2)
    expect(found.get(429)).to.have.length(10)
  })

  it('spend together at most the budget of the first key', async () => {
    await own.gateway.allow(
      { budget_nano_usd: 5 * costNanoUsd + costNanoUsd / 2, budget_period: 'day' },
      first,
    )
    const keys = await family()
    const found = await statuses(keys, 5)
    expect(found.get(200)).to.have.length(5)
    expect(found.get(402)).to.have.length(25)
    // Each key reports the same shared state.
    for (const key of keys) {
      const answer = await own.gateway.fetch('/api/key', { key })
      const { budget } = (await answer.json()) as components['schemas']['OwnKey']
      expect(budget).to.have.nested.property('spent.nano_usd', 5 * costNanoUsd)
      expect(budget).to.have.nested.property('reserved.nano_usd', 0)
    }
  })

  it('count usage from before a key was replaced', async () => {
    await own.gateway.allow(
      { requests_per_minute: 3, budget_nano_usd: 100 * costNanoUsd, budget_period: 'total' },
      first,
    )
    expect([await ask(first), await ask(first)]).to.deep.equal([200, 200])
    const { id } = await calls.rowOf(first)
    const { key } = await calls.rotated(own.gateway.adminKey, id, 0)
    await until('both are settled', async () => (await own.gateway.usage()).length === 2)
    const response = await own.gateway.fetch('/api/key', { key })
    expect(await response.json()).to.have.nested.property('budget.spent.nano_usd', 2 * costNanoUsd)
    expect([await ask(key), await ask(key)]).to.deep.equal([200, 429])
  })
  it('count the usage of all from before a budget was set', async () => {
    await own.gateway.allow({ requests_per_minute: 1000 }, first)
    const keys = await family()
    for (const key of keys) expect(await ask(key)).to.equal(200)
    await until('all are settled', async () => (await own.gateway.usage()).length === keys.length)
    const budget_nano_usd = (keys.length + 1) * costNanoUsd + costNanoUsd / 2
    for (const key of keys) await own.gateway.allow({ budget_nano_usd, budget_period: 'day' }, key)
    const response = await own.gateway.fetch('/api/key', { key: keys.at(-1)! })
    expect(await response.json()).to.have.nested.property(
      'budget.spent.nano_usd',
      keys.length * costNanoUsd,
    )
    const found = await statuses(keys, 1)
    expect(found.get(200)).to.have.length(1)
    expect(found.get(402)).to.have.length(keys.length - 1)
  })
})
