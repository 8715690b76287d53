import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import {
  callNanoUsd,
  prepareGateways,
  usage,
  type GatewayProcesses,
} from '../support/gateway-processes.ts'
import { programPath } from '../support/program-path.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

/** For more calls: `PAID_CALLS=5000 npx mocha --no-config test/process/leased-budgets.spec.ts`. */
const paidFor = Number(process.env['PAID_CALLS'] ?? 600)
const budgetNanoUsd = (paidFor + 0.9) * callNanoUsd
const names = ['a', 'b', 'c', 'd']
const callersOfEach = 8

describe('a budget that four replicas on one PostgreSQL lease, two of them killed', () => {
  let gateways: GatewayProcesses
  const servers = new Map<string, ServerProcess>()
  before(async function () {
    programPath('postgres', this)
    gateways = await prepareGateways({ store: 'postgres' })
  })
  after(() => gateways?.stop())

  const start = async (name: string) => servers.set(name, await gateways.start(name))
  const restart = async (name: string) => {
    servers.get(name)!.kill('SIGKILL')
    await servers.get(name)!.ended
    await start(name)
  }
  /** Calls all replicas, also those that are killed meanwhile, until the budget is spent. */
  const spend = async (key: string) => {
    const call = async (server: ServerProcess) => {
      let status = 200
      while (status === 200 || status === 429) status = await gateways.statusOf(server, key)
      return status
    }
    const all = Array.from({ length: callersOfEach }, () => [...servers.values()].map(call))
    return new Set(await Promise.all(all.flat()))
  }
  it('pays no call more than it has money for, and each of them', async function () {
    this.timeout(240_000)
    for (const name of names) await start(name)
    const key = await gateways.createKey('leased')
    await gateways.query(
      `update accounts set budget_nano_usd = ${budgetNanoUsd}, budget_period = 'total'`,
    )
    const restarts: Promise<unknown>[] = []
    gateways.upstream.answer((_request, at) => {
      if (at === Math.floor(paidFor / 4)) restarts.push(restart('a'))
      if (at === Math.floor(paidFor / 2)) restarts.push(restart('b'))
      return { ...completion('Hi.', { usage }), delayMs: (at * 7) % 40 }
    })
    let leasing = 0
    const end = new AbortController()
    const watching = (async () => {
      while (!end.signal.aborted) {
        const { count } = await gateways.numbers(
          'select count(*) from budget_leases where nano_usd > 0',
        )
        leasing = Math.max(leasing, count!)
      }
    })()
    expect([...(await spend(key))].toSorted((a, b) => a - b)).to.deep.equal([0, 402])
    await Promise.all(restarts)
    end.abort()
    await watching
    expect(leasing).to.be.at.least(2)
    const sums = `
      select (select spent_nano_usd from budget_windows) as spent,
        (select reserved_nano_usd from budget_windows) as reserved,
        sum(cost_nano_usd) as cost, count(*) as rows,
        count(case when outcome = 'unknown' and cost_nano_usd > 0 then 1 end) as charged from usage`
    await until('no money is held', async () => (await gateways.numbers(sums))['reserved'] === 0)
    // What the killed processes had leased is spent, too.
    expect([...(await spend(key))]).to.deep.equal([402])
    await until('no money is held', async () => (await gateways.numbers(sums))['reserved'] === 0)
    const { spent, cost, rows, charged } = await gateways.numbers(sums)
    const received = gateways.upstream.requests.length
    process.stdout.write(
      `      ${received} requests received of ${paidFor} that the budget pays, ${rows} rows, ${charged} charged of killed processes; ${leasing} leases at once\n`,
    )
    expect(received).to.be.at.most(paidFor)
    expect(spent).to.equal(cost)
    expect(spent).to.be.within(budgetNanoUsd - callNanoUsd - 20_000, budgetNanoUsd)
    expect(charged).to.be.at.least(1)
  })
})
