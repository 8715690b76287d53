import { expect } from 'chai'
import type { Caller } from '../../src/core/caller.ts'
import type { Admission, Demand } from '../../src/core/limits.ts'
import type { GatewayError } from '../../src/core/error.ts'
import { startReplicas, type TestProcess, type TestReplica } from '../support/far-limits.ts'
import { callerWith, demandOf, nothing } from '../support/limits.ts'
import { programPath } from '../support/program-path.ts'
import { until } from '../support/until.ts'

/** Makes many simultaneous calls, distributed over the processes; returns their outcomes. */
async function rush(
  processes: readonly TestProcess[],
  { caller, demand = demandOf(), count }: { caller: Caller; demand?: Demand; count: number },
): Promise<{ admissions: Admission[]; refusals: GatewayError[] }> {
  const results = await Promise.allSettled(
    Array.from({ length: count }, (_, index) =>
      processes[index % processes.length]!.admit(caller, demand),
    ),
  )
  return {
    admissions: results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
    refusals: results.flatMap((one) =>
      one.status === 'rejected' ? [one.reason as GatewayError] : [],
    ),
  }
}

const leftOf = async (process: TestProcess, caller: Caller) =>
  (await process.look(caller)).map(({ remaining }) => remaining)

describe('limits that are counted in the Redis of two replicas', () => {
  before(function () {
    programPath('redis-server', this)
  })
  let both: TestProcess[]
  let one: TestProcess
  let other: TestProcess
  beforeEach(async () => {
    both = await startReplicas(2)
    ;[one, other] = both as [TestProcess, TestProcess]
  })
  afterEach(async () => {
    await Promise.all(both.map(async (each) => each.stop()))
    for (const { modes, faults } of both) expect([...modes, ...faults]).to.deep.equal([])
  })

  it('admit exactly 500 of 2000 simultaneous calls', async () => {
    const caller = callerWith({ requestsPerMinute: 500 }, { requestsPerMinute: 100_000 })
    const { admissions, refusals } = await rush(both, { caller, count: 2000 })
    expect(admissions).to.have.length(500)
    expect(refusals).to.have.length(1500)
    for (const { code } of refusals) expect(code).to.equal('rate_limit_exceeded')
    expect(await leftOf(other, caller)).to.deep.equal([99_500, 0])
    await other.pass(60_000)
    expect((await rush(both, { caller, count: 600 })).admissions).to.have.length(500)
  })

  it('are exact for tokens and images, also after one process returns the unused part', async () => {
    const caller = callerWith({ tokensPerMinute: 1000 }, { imagesPerMinute: 300 })
    const demand = demandOf(4, 10)
    const { admissions } = await rush(both, { caller, demand, count: 400 })
    expect(admissions).to.have.length(75)
    expect(await leftOf(one, caller)).to.deep.equal([250, 0])
    for (const { end } of admissions) end({ inputTokens: 4, outputTokens: 2, images: 3 })
    await until('it is counted', async () => (await leftOf(other, caller))[0] === 550)
    expect(await leftOf(other, caller)).to.deep.equal([550, 75])
  })

  it('apply to concurrent calls, whose slots any process can reuse', async () => {
    const caller = callerWith({ concurrency: 7 }, { concurrency: 100 })
    const { admissions, refusals } = await rush(both, { caller, count: 300 })
    expect(admissions).to.have.length(7)
    expect(refusals[0]!.message).to.match(/^This API key may have 7 calls at once/)
    expect(await leftOf(other, caller)).to.deep.equal([93, 0])
    for (const { end } of admissions) end(nothing)
    await until('they have ended', async () => (await leftOf(other, caller))[1] === 7)
    expect(admissions[0]!.limits().at(-1)!.remaining).to.be.at.least(1)
    expect((await rush(both, { caller, count: 20 })).admissions).to.have.length(7)
  })

  it('do not count a refused call', async () => {
    const caller = callerWith({ tokensPerMinute: 5 }, { requestsPerMinute: 50, concurrency: 5 })
    const { refusals } = await rush(both, { caller, demand: demandOf(0, 6), count: 100 })
    expect(refusals).to.have.length(100)
    expect(await leftOf(one, caller)).to.deep.equal([50, 5, 5])
  })

  it('are checked in one message for all calls of a tick', async () => {
    const before = one.messages()
    const caller = callerWith({ requestsPerMinute: 500 })
    await rush([one], { caller, count: 150 })
    expect(one.messages() - before).to.be.at.most(2)
  })

  it('would be divided by two if Redis failed', async () => {
    await until('both are known', () => other.processes() === 2)
  })
})
describe('the concurrent calls of a dead process', () => {
  const caller = callerWith({ concurrency: 4 }, { requestsPerMinute: 100 })

  it('free their slots after a time without its heartbeat, at the latest after their deadline', async function () {
    programPath('redis-server', this)
    const [one, other, third] = (await startReplicas(3)) as [TestReplica, TestReplica, TestReplica]
    await rush([one], { caller, count: 3 })
    const { end } = await other.admit(caller, demandOf())
    expect(await leftOf(other, caller)).to.deep.equal([96, 0])
    await one.vanish()
    await other.beat()
    expect(await leftOf(other, caller)).to.deep.equal([96, 3])
    end(nothing)
    await until('it has ended', async () => (await leftOf(third, caller))[1] === 4)
    await rush([third], { caller, count: 4 })
    await other.pass(36_000_000 + 31_000)
    expect(await leftOf(other, caller)).to.deep.equal([100, 4])
    await Promise.all([one, other, third].map(async (each) => each.stop()))
  })
})
