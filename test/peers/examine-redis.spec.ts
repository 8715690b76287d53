import { expect } from 'chai'
import { examineRedis } from '../../src/peers/examine-redis.ts'
import { programPath } from '../support/program-path.ts'
import { startRedis, type TestRedis } from '../support/servers/redis.ts'

const limits = {
  redisConnectTimeoutMs: 300,
  redisCommandTimeoutMs: 300,
  redisPingIntervalMs: 300,
}
const examine = (url: string) => examineRedis({ url, keyPrefix: 'gateway:', limits })

describe('the finding of doctor about Redis', () => {
  let redis: TestRedis | undefined
  before(function () {
    programPath('redis-server', this)
  })
  afterEach(() => redis?.stop())
  const start = async (...words: string[]) => {
    redis = await startRedis(words)
    return redis.url
  }

  it('has address, latency, version and use', async () => {
    const { finding, healthy } = await examine(await start())
    expect(healthy).to.equal(true)
    expect(finding).to.match(
      /^127\.0\.0\.1:\d+\/0 answers in \d+ ms, version \d+\.\d+\.\d+, for limits, cached answers and announcements of all processes$/,
    )
  })

  const policies: [policy: string, warning: RegExp | undefined][] = [
    ['noeviction', /refuses writes when its memory is full/],
    ['volatile-ttl', /may evict counters of limits/],
    ['allkeys-random', /may evict counters of limits/],
    ['allkeys-lru', undefined],
    ['volatile-lfu', undefined],
  ]
  for (const [policy, warning] of policies) {
    it(`is ${warning === undefined ? 'nothing more' : 'a warning'} with ${policy}`, async () => {
      const url = await start('--maxmemory', '10mb', '--maxmemory-policy', policy)
      const { finding, healthy } = await examine(url)
      expect(healthy).to.equal(true)
      if (warning === undefined) expect(finding).to.match(/all processes$/)
      else expect(finding).to.match(warning).and.include(policy)
    })
  }

  it('omits facts that the user may not query', async () => {
    const url = await start('--rename-command', 'INFO', '')
    expect((await examine(url)).finding).to.match(/answers in \d+ ms, for limits/)
  })

  it('has the reason of a failure, without the password', async () => {
    const url = await start('--requirepass', 'sesame')
    const wrong = await examine(url.replace('//', '//:guess-word@'))
    expect(wrong.healthy).to.equal(false)
    expect(wrong.finding)
      .to.match(/user or password is wrong/)
      .and.not.include('guess-word')
    redis!.kill('SIGSTOP')
    const frozen = await examine(url.replace('//', '//:sesame@'))
    expect(frozen.healthy).to.equal(false)
    expect(frozen.finding)
      .to.match(/does not answer/)
      .and.not.include('sesame')
  })
})
