import { expect } from 'chai'
import { createBudgets } from '../../src/accounts/budgets.ts'
import type { GatewayError } from '../../src/core/error.ts'
import { ProviderFailure } from '../../src/core/failure.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { askedCall, callerOf, unlimited } from '../support/callers.ts'
import { completion } from '../support/chat-answers.ts'
import { setBudgetOfKey } from '../support/budgets.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { hello, startOwnEndpoint } from '../support/own-endpoint.ts'
import { openGuardedStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

const limits = { ledgerGroupRowsMax: 100, ledgerGroupPauseMaxMs: 0, budgetWaitMaxMs: 20_000 }
const at = Date.parse('2026-11-20T12:00:00Z')
const budget = { nanoUsd: 1000, period: 'total' as const }
const caller = callerOf({
  accountId: 'acc_1',
  keyId: 'key_1',
  allowances: [unlimited('acc_1'), { ...unlimited('key_1'), budget }],
})

forEachStore('money that running calls hold', () => {
  let folder: TemporaryFolder
  let store: GuardedStore
  beforeEach(async () => {
    folder = makeFolder()
    store = await openGuardedStore(folder.path)
  })
  afterEach(async () => {
    await store.close()
    folder.remove()
  })
  const start = (more: object = {}) =>
    createBudgets({ store, clock: () => at, limits: { ...limits, ...more } })
  type Budgets = ReturnType<typeof start>
  const reserve = (budgets: Budgets, requestId: string, nanoUsd: number, more: object = {}) => {
    const call = { ...askedCall, caller, requestId, at, timeoutMs: 60_000, nanoUsd, ...more }
    return budgets.reserve(call)
  }
  const codeOf = (asked: Promise<unknown>): Promise<string> =>
    asked.then(
      () => 'granted',
      (error: GatewayError) => error.code,
    )

  it('is waited for in the order of arrival, so that small calls do not overtake a large one', async () => {
    const budgets = start()
    const order: string[] = []
    const first = await reserve(budgets, 'req_1', 600)
    const second = await reserve(budgets, 'req_2', 300)
    const large = reserve(budgets, 'req_large', 1000).then((held) => {
      order.push('large')
      return held
    })
    // These refusals need the same statements, so the large call waits when they have ended.
    for (const id of ['req_3', 'req_4'])
      expect(await codeOf(reserve(budgets, id, 1001))).to.equal('insufficient_quota')
    const small = reserve(budgets, 'req_small', 50).then(() => void order.push('small'))
    await first.release()
    await second.release()
    await (await large).release()
    await small
    expect(order).to.deep.equal(['large', 'small'])
  })

  it('is released by another process', async () => {
    const [here, there] = [start(), start()]
    const held = await reserve(there, 'req_1', 1000)
    const waiting = codeOf(reserve(here, 'req_2', 1000))
    await held.release()
    expect(await waiting).to.equal('granted')
  })

  it('is waited for until the client disconnects', async () => {
    const budgets = start()
    const held = await reserve(budgets, 'req_1', 1000)
    const ending = new AbortController()
    const left = new ProviderFailure('cancelled', 'The client disconnected.')
    const waiting = reserve(budgets, 'req_2', 1000, { signal: ending.signal })
    const error = waiting.catch((thrown: unknown) => thrown)
    ending.abort(left)
    expect(await error).to.equal(left)
    await held.release()
    expect(await codeOf(reserve(budgets, 'req_3', 1000))).to.equal('granted')
  })

  it('delays no call that costs more than what is not spent', async () => {
    const budgets = start()
    await reserve(budgets, 'req_1', 1000)
    expect(await codeOf(reserve(budgets, 'req_2', 1001))).to.equal('insufficient_quota')
  })

  it('refuses all that wait, with one reading, when it is spent', async () => {
    let groups = 0
    const decide: typeof store.decide = (run) => {
      groups++
      return store.decide(run)
    }
    const budgets = createBudgets({ store: { ...store, decide }, clock: () => at, limits })
    const held = await reserve(budgets, 'req_0', 1000)
    const waiting = Array.from({ length: 100 }, (_, call) =>
      codeOf(reserve(budgets, `req_of_${call}`, 100)),
    )
    // Is refused by statements that follow those of the waiting calls.
    expect(await codeOf(reserve(budgets, 'req_last', 1001))).to.equal('insufficient_quota')
    const before = groups
    await store.insert('usage', [{ ...usageRow('req_0', at), mode: 'live', cost_nano_usd: 950 }])
    await held.settle(950, async () => undefined)
    expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set(['insufficient_quota']))
    expect(groups - before).to.be.below(5)
  })

  it('is waited for by a bounded number of calls', async () => {
    const budgets = start()
    const held = await reserve(budgets, 'req_1', 1000)
    const ending = new AbortController()
    const asked = Array.from({ length: 257 }, (_, call) =>
      codeOf(reserve(budgets, `req_of_${call}`, 1000, { signal: ending.signal })),
    )
    expect(await Promise.any(asked)).to.equal('rate_limit_exceeded')
    await held.release()
    ending.abort(new ProviderFailure('cancelled', 'The client disconnected.'))
    const codes = await Promise.all(asked)
    expect(codes.filter((code) => code === 'rate_limit_exceeded')).to.have.length(1)
  })

  it('returns 429 with the amounts and Retry-After when it is not released in time', async () => {
    await using own = await startOwnEndpoint({
      file: { routes: { 'gpt-5-mini': ['own/house-1'] } },
      bounds: { keyCacheMs: 0, budgetWaitMaxMs: 20 },
    })
    const key = await own.gateway.createKey('live')
    await setBudgetOfKey(own.gateway, key, { nanoUsd: 3_000_000, period: 'total' })
    const answered = Promise.withResolvers<void>()
    own.upstream.answer({ ...completion('Hi.'), after: answered.promise })
    const body = { model: 'gpt-5-mini', messages: hello, max_completion_tokens: 1000 }
    const ask = () =>
      own.gateway.post('/v1/chat/completions', body, {
        key,
        headers: { 'cache-control': 'no-store' },
      })
    const asked = [ask(), ask()]
    const refused = await Promise.race(asked)
    const { error } = (await refused.json()) as { error: { code: string; message: string } }
    expect([refused.status, error.code]).to.deep.equal([429, 'rate_limit_exceeded'])
    expect(refused.headers.get('retry-after')).to.equal('2')
    expect(refused.headers.get('x-should-retry')).not.to.equal('false')
    expect(error.message).to.match(/\$0 is spent and \$0\.00\d+ is held/)
    expect(error).to.have.nested.property('budget.reserved.nano_usd').above(0)
    answered.resolve()
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(statuses).to.have.members([200, 429])
    expect((await ask()).status).to.equal(200)
  })
})
