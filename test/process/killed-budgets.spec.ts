import { expect } from 'chai'
import { chanceFrom } from '../support/chance.ts'
import { completion } from '../support/chat-answers.ts'
import {
  callNanoUsd,
  prepareGateways,
  usage,
  type GatewayProcesses,
} from '../support/gateway-processes.ts'
import { until } from '../support/until.ts'

/** For more rounds, which take minutes: `BUDGET_ROUNDS=50 npx mocha --no-config test/process/killed-budgets.spec.ts`. */
const rounds = Number(process.env['BUDGET_ROUNDS'] ?? 1)
const seed = Number(process.env['BUDGET_SEED'] ?? 20_261_122)
const calls = 200
const paidFor = 10
const budgetNanoUsd = (paidFor + 0.9) * callNanoUsd

describe(`a budget for ${paidFor} of ${calls} calls, ${rounds} times, a third of them killed`, () => {
  const chance = chanceFrom(seed)
  let gateways: GatewayProcesses
  beforeEach(async () => {
    gateways = await prepareGateways()
  })
  afterEach(() => gateways.stop())

  const sums = () =>
    gateways.numbers(`select
      (select spent_nano_usd from budget_windows) spent,
      (select reserved_nano_usd from budget_windows) reserved,
      (select coalesce(sum(nano_usd), 0) from reservations) held,
      (select coalesce(sum(cost_nano_usd), 0) from usage) recorded,
      (select count(*) from usage) as rows`)

  for (let round = 0; round < rounds; round++) {
    const isKilled = round % 3 === 0
    it(`pays at most ${paidFor} calls, round ${round + 1}${isKilled ? ', killed' : ''}`, async function () {
      const { upstream } = gateways
      let server = await gateways.start()
      const key = await gateways.createKey('budget')
      await gateways.query(
        `update api_keys set budget_nano_usd = ${budgetNanoUsd}, budget_period = 'total'`,
      )
      const killAt = isKilled ? 1 + chance.below(paidFor) : Infinity
      const delays = Array.from({ length: calls }, () => chance.below(30))
      upstream.answer((_request, at) => {
        if (at + 1 === killAt) server.kill('SIGKILL')
        return { ...completion('Hi.', { usage }), delayMs: delays[at % calls]! }
      })
      const all = () => Array.from({ length: calls }, () => gateways.statusOf(server, key))
      const statuses = await Promise.all(all())
      if (isKilled) {
        await server.ended
        server = await gateways.start()
        statuses.push(...(await Promise.all(all())))
      }
      const paid = upstream.requests.length
      const good = statuses.filter((status) => status === 200).length
      expect(paid).to.be.at.most(paidFor)
      if (!isKilled) expect([paid, good]).to.deep.equal([paidFor, paidFor])
      const during = await sums()
      expect(during['rows']).to.be.at.least(good)
      expect(during['spent']).to.equal(during['recorded'])
      expect(during['reserved']).to.equal(during['held'])
      // Simulates that the deadlines of reservations have passed.
      await gateways.query('update reservations set expires_at = 1')
      await until('no reservation is left', async () => (await sums())['held'] === 0)
      const after = await sums()
      expect(after).to.include({ reserved: 0, held: 0, spent: after['recorded'] })
      expect(after['spent']).to.be.at.most(budgetNanoUsd)
      // Calls in progress when the process died have rows too.
      expect(after['rows']).to.be.at.least(paid)
      server.kill('SIGTERM')
      await server.ended
    })
  }
})
