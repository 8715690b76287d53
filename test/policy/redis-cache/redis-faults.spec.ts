import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { CachedAnswer } from '../../../src/core/repeats/cached-answer.ts'
import { togetherInRedis, type TestProcess, type Together } from '../../support/redis-caches.ts'
import { programPath } from '../../support/program-path.ts'
import { until } from '../../support/until.ts'

const answer: CachedAnswer = {
  modelId: 'm',
  provider: 'p',
  usage: undefined,
  warnings: [],
  bytes: 100,
  result: Buffer.from('{"a":1}'),
}

/** The duration of `work` in milliseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

describe('the shared cache during faults of Redis', () => {
  let together: Together
  let one: TestProcess
  let other: TestProcess
  const name = 'one:answers::key'
  before(function () {
    programPath('redis-server', this)
  })
  const start = async (options: { words?: readonly string[]; timeoutMs?: number } = {}) => {
    together = await togetherInRedis(options)
    ;[one, other] = together.processes as [TestProcess, TestProcess]
  }
  afterEach(() => together.end())
  const write = (value: string | Buffer) =>
    together.connection!.run((commands) => commands.set(name, value), 5000)

  it('ignores values that other programs wrote, and reports them as broken', async () => {
    await start()
    await one.writeCache('key', answer, undefined)
    const whole = await together.connection!.run((commands) =>
      commands.withTypeMapping({ [36]: Buffer }).get(name),
    )
    const bytes = whole as unknown as Buffer
    const changed = (at: number) => {
      const copy = Buffer.from(bytes)
      copy[at] = copy[at]! ^ 1
      return copy
    }
    const places = Array.from({ length: bytes.length }, (_, at) => changed(at))
    const garbage = ['x', '{"value":{"answer":{}}}', randomBytes(10), randomBytes(5000)]
    const cut = [bytes.subarray(0, 20), bytes.subarray(0, -1), Buffer.concat([bytes, bytes])]
    for (const value of [...garbage, ...cut, ...places]) {
      await write(value)
      expect(await other.readSharedCache('key')).to.equal(undefined)
    }
    expect(new Set(other.outcomes)).to.deep.equal(new Set(['broken']))
    // Copies a sealed value to another key, where it would be the answer to another request.
    await together.connection!.run((commands) => commands.set('one:answers::other', bytes))
    expect(await other.readSharedCache('other')).to.equal(undefined)
    await write(bytes)
    // A value without an expiry time is not used, because it would never expire.
    expect(await other.readSharedCache('key')).to.equal(undefined)
    expect(other.outcomes.slice(-2)).to.deep.equal(['broken', 'hit'])
  })

  it('does not read a value larger than the maximum of an entry', async () => {
    await start()
    const last = 100 * 2 ** 20
    await together.connection!.run((commands) => commands.setRange(name, last, 'x'), 5000)
    const before = process.memoryUsage().rss
    expect(await other.readSharedCache('key')).to.equal(undefined)
    expect(other.outcomes).to.deep.equal(['broken'])
    expect(process.memoryUsage().rss - before).to.be.lessThan(60 * 2 ** 20)
  })

  it('ignores a value of another Redis type', async () => {
    await start()
    await together.connection!.run((commands) => commands.lPush(name, 'x'))
    for (let count = 0; count < 3; count++) await other.readSharedCache('key')
    expect(other.outcomes).to.deep.equal(['broken', 'broken', 'broken'])
  })

  it('waits for a frozen Redis once, and finds its entries again within two seconds', async () => {
    await start({ timeoutMs: 150 })
    await one.writeCache('key', answer, undefined)
    await other.readSharedCache('another')
    together.redis!.kill('SIGSTOP')
    expect(await timed(() => other.readSharedCache('key'))).to.be.within(100, 1000)
    for (let count = 0; count < 10; count++) await other.readSharedCache('key')
    const passed = other.outcomes.filter((outcome) => outcome === 'passed').length
    expect(passed).to.be.greaterThan(7)
    expect(other.writeCache('more', answer, undefined)).to.equal(undefined)
    together.redis!.kill('SIGCONT')
    const backMs = await timed(() =>
      until('it is back', async () => (await other.readSharedCache('key')) !== undefined, 2000),
    )
    expect(backMs).to.be.lessThan(2000)
  })

  it('works without a stopped Redis, and uses it within two seconds of its start', async () => {
    await start()
    together.redis!.kill('SIGKILL')
    await until('it is gone', () => !together.connection!.isUp())
    expect(await timed(() => other.readSharedCache('key'))).to.be.lessThan(1000)
    await one.writeCache('key', answer, undefined)
    expect(one.readCache('key')).to.equal(answer)
    await together.redis!.restart()
    const work = () =>
      until(
        'it is back',
        async () => {
          await one.writeCache('key', answer, undefined)
          return (await other.readSharedCache('key')) !== undefined
        },
        2000,
      )
    expect(await timed(work)).to.be.lessThan(2000)
  })

  it('misses entries that Redis evicts, and does not fail when Redis is full', async () => {
    for (const policy of ['allkeys-lru', 'noeviction']) {
      await start({ words: ['--maxmemory', '16mb', '--maxmemory-policy', policy] })
      const large = { ...answer, bytes: 1_000_000, result: randomBytes(1_000_000) }
      const kept = []
      for (let count = 0; count < 20; count++) {
        kept.push(await one.writeCache(`key ${count}`, large, undefined))
      }
      let there = 0
      for (const count of kept.keys()) {
        if ((await other.readSharedCache(`key ${count}`)) !== undefined) there++
      }
      expect(there, policy).to.be.within(2, 15)
      expect(kept.includes(false), policy).to.equal(policy === 'noeviction')
      expect(other.outcomes.includes('failed'), policy).to.equal(false)
      if (policy === 'allkeys-lru') await together.end()
    }
  })
})
