import { expect } from 'chai'
import { startReplicas, type TestReplica } from '../support/far-limits.ts'
import { callerWith, demandOf, nothing, refusal } from '../support/limits.ts'
import { programPath } from '../support/program-path.ts'
import { startRedis, type TestRedis } from '../support/servers/redis.ts'
import { until } from '../support/until.ts'

/** Time within which a replica shares its counts again after Redis is back. */
const backMs = 2000
/** Timeout of a replica's requests to Redis. */
const timeoutMs = 500

describe('limits of two replicas when Redis', () => {
  const caller = callerWith({ requestsPerMinute: 10 }, { requestsPerMinute: 0 })
  const own = callerWith({ requestsPerMinute: 10 })
  let redis: TestRedis
  let both: TestReplica[]
  let one: TestReplica
  let other: TestReplica
  beforeEach(async function () {
    programPath('redis-server', this)
    redis = await startRedis()
    both = await startReplicas(2, { redis, timeoutMs })
    ;[one, other] = both as [TestReplica, TestReplica]
    await until('they know of each other', () => both.every((each) => each.processes() === 2))
  })
  afterEach(async () => {
    await Promise.all(both.map(async (each) => each.stop()))
    await redis.stop()
  })

  /** Makes `count` calls at one replica; returns the number of admitted calls. */
  const admitted = async (replica: TestReplica, count: number, who = own) => {
    const calls = Array.from({ length: count }, () => replica.admit(who, demandOf()))
    const results = await Promise.allSettled(calls)
    return results.filter(({ status }) => status === 'fulfilled').length
  }
  const alone = () => both.every(({ modes }) => modes.at(-1) === 'alone')
  const together = () =>
    until('it counts again', () => both.every(({ modes }) => modes.at(-1) === 'together'), backMs)

  it('is killed: each counts its share, and they share counts again after an empty restart', async () => {
    expect(await admitted(one, 8)).to.equal(8)
    redis.kill('SIGKILL')
    expect(await admitted(one, 30)).to.equal(5)
    expect(await admitted(other, 30)).to.equal(5)
    await refusal(one.admit(caller, demandOf()))
    const states = await one.look(own)
    expect(states).to.deep.equal([{ ...states[0], limit: 10, remaining: 0 }])
    await redis.restart()
    await together()
    expect((await admitted(one, 7)) + (await admitted(other, 30))).to.equal(10)
    for (const { modes } of both) expect(modes).to.deep.equal(['alone', 'together'])
  })

  it('freezes: only the first call waits, and no call is counted twice afterwards', async () => {
    const atOnce = callerWith({ concurrency: 4, requestsPerMinute: 100 }, {}, '2')
    const running = await one.admit(atOnce, demandOf())
    redis.kill('SIGSTOP')
    const first = await one.admit(atOnce, demandOf())
    const began = performance.now()
    const calls = [await one.admit(own, demandOf())]
    for (let turn = 0; turn < 4; turn++) calls.push(await one.admit(own, demandOf()))
    expect(performance.now() - began).to.be.below(timeoutMs)
    await refusal(one.admit(own, demandOf()))
    expect(await admitted(other, 30)).to.equal(5)
    await until('both know', alone)
    for (const { end } of [running, first, ...calls]) end(nothing)
    redis.kill('SIGCONT')
    await together()
    await until('all that has ended is free', async () => {
      const [requests, free] = (await other.look(atOnce)).map(({ remaining }) => remaining)
      return requests === 99 && free === 4
    })
    expect((await one.look(own))[0]!.remaining).to.equal(10)
  })

  it('is full and evicts nothing: each counts its share', async () => {
    expect(await admitted(one, 3)).to.equal(3)
    await one.command(['CONFIG', 'SET', 'maxmemory', '1'])
    expect(await admitted(one, 30)).to.equal(5)
    expect(await admitted(other, 30)).to.equal(5)
    await one.command(['CONFIG', 'SET', 'maxmemory', '0'])
    await together()
    expect(await admitted(other, 30)).to.equal(7)
  })

  it('evicts: lost windows start again, without other effects', async () => {
    await one.command(['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru'])
    await one.command(['CONFIG', 'SET', 'maxmemory', '3mb'])
    expect(await admitted(one, 30)).to.equal(10)
    const filler = 'x'.repeat(20_000)
    for (let name = 0; name < 300; name++) await one.command(['SET', `other${name}`, filler])
    expect(await admitted(other, 30)).to.be.oneOf([0, 10])
    for (let owner = 0; owner < 50; owner++) {
      const who = callerWith({ requestsPerMinute: 10, concurrency: 1 }, {}, `of ${owner}`)
      ;(await other.admit(who, demandOf())).end(nothing)
    }
    for (const { modes } of both) expect(modes).to.deep.equal([])
  })

  it('loses its scripts: they are sent again', async () => {
    expect(await admitted(one, 4)).to.equal(4)
    await one.command(['SCRIPT', 'FLUSH'])
    expect(await admitted(other, 30)).to.equal(6)
    for (const { modes } of both) expect(modes).to.deep.equal([])
  })

  it('is killed after one of them has stopped: the other enforces the whole limit', async () => {
    await other.stop()
    await one.beat()
    await until('it knows', () => one.processes() === 1)
    redis.kill('SIGKILL')
    expect(await admitted(one, 30)).to.equal(10)
  })
})

describe('the share of a limit', () => {
  it('admits a call larger than the share only when no other is counted', async function () {
    programPath('redis-server', this)
    const redis = await startRedis()
    const both = (await startReplicas(2, { redis })) as [TestReplica, TestReplica]
    await until('they know of each other', () => both.every((each) => each.processes() === 2))
    redis.kill('SIGKILL')
    const caller = callerWith({ tokensPerMinute: 100, concurrency: 1 })
    const { end } = await both[0].admit(caller, demandOf(0, 80))
    const error = await refusal(both[0].admit(caller, demandOf(0, 10)))
    expect(error.message).to.match(/may use 100 tokens a minute; 0 are left/)
    await refusal(both[1].admit(caller, demandOf(0, 101)))
    end({ inputTokens: 20, outputTokens: 0, images: 0 })
    await both[0].admit(caller, demandOf(0, 30))
    await Promise.all(both.map(async (each) => each.stop()))
    await redis.stop()
  })
})
