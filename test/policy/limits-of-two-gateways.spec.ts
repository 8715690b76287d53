import { createClient } from '@redis/client'
import { expect } from 'chai'
import { hello } from '../support/own-endpoint.ts'
import { programPath } from '../support/program-path.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startTwo, type TwoProcesses } from '../support/two-processes.ts'
import { until } from '../support/until.ts'

type Own = { rate_limits: { kind: string; limit: number; remaining: number }[] }

describe('the limits of two gateways with one Redis', () => {
  let two: TwoProcesses
  let key: string
  before(function () {
    programPath('redis-server', this)
  })
  beforeEach(async () => {
    two = await startTwo({
      file: { limits: { limits_timeout_ms: 5000 } },
      bounds: { keyCacheMs: 0 },
    })
    key = await two.a.createKey('test')
  })
  afterEach(() => two.stop())

  const ask = (gateway: TestGateway, more: object = {}) => {
    const body = { model: 'gpt-5-mini', messages: hello, ...more }
    return gateway.post('/v1/chat/completions', body, { key })
  }
  const left = async (gateway: TestGateway, kind: string) => {
    const own = (await (await gateway.fetch('/api/key', { key })).json()) as Own
    return own.rate_limits.find((one) => one.kind === kind)!.remaining
  }

  it('are exact, with the same remaining count on both', async () => {
    await two.a.allow({ requests_per_minute: 100 }, key)
    const calls = Array.from({ length: 400 }, (_, index) => ask(index % 2 === 0 ? two.a : two.b))
    const answers = await Promise.all(calls)
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).to.have.length(100)
    expect(statuses.filter((status) => status === 429)).to.have.length(300)
    const refused = answers.find(({ status }) => status === 429)!
    expect(refused.headers.get('ratelimit')).to.match(/"requests-per-key";r=0;t=(59|60)/)
    expect(refused.headers.get('ratelimit-policy')).to.contain('"requests-per-key";q=100;w=60')
    expect(await refused.text()).to.contain('This API key may make 100 requests a minute')
    await Promise.all(answers.map(async (answer) => answer.bodyUsed || answer.text()))
    expect(await left(two.b, 'requests')).to.equal(0)
    expect(two.a.logText() + two.b.logText()).to.not.contain('its share')
  })

  it('return at one gateway the unused part of a call at the other', async () => {
    await two.a.allow({ tokens_per_minute: 1000, concurrency: 5 }, key)
    const first = await ask(two.a, { max_tokens: 900 })
    expect(first.status, await first.text()).to.equal(200)
    await until('it is counted', async () => (await left(two.b, 'tokens')) > 500)
    const tokens = await left(two.b, 'tokens')
    expect(first.headers.get('x-ratelimit-remaining-tokens')).to.equal(String(tokens))
    expect(await left(two.b, 'concurrency')).to.equal(5)
    const body = { messages: [{ role: 'user', content: 'another' }], max_tokens: 500 }
    expect((await ask(two.b, body)).status).to.equal(200)
  })
})

describe('two gateways that lose their Redis', () => {
  before(function () {
    programPath('redis-server', this)
  })

  it('enforce their shares with a log message; two seconds after its restart they share counts again', async () => {
    const two = await startTwo({ bounds: { keyCacheMs: 0 } })
    try {
      const key = await two.a.createKey('test')
      await two.a.allow({ requests_per_minute: 10 }, key)
      const ask = async (gateway: TestGateway) => {
        const body = { model: 'gpt-5-mini', messages: hello }
        const answer = await gateway.post('/v1/chat/completions', body, { key })
        await answer.text()
        return answer.status
      }
      const admitOf20 = async (gateway: TestGateway) =>
        (await Promise.all(Array.from({ length: 20 }, () => ask(gateway)))).filter(
          (status) => status === 200,
        ).length
      const metric = async (gateway: TestGateway) =>
        /^gateway_limits_fallback (\d)/m.exec(await (await gateway.fetch('/metrics')).text())?.[1]
      expect(await metric(two.a)).to.equal('0')
      await untilRegistered(two)
      two.redis.kill('SIGKILL')
      expect(await admitOf20(two.a)).to.equal(5)
      expect(await admitOf20(two.b)).to.equal(5)
      expect(await metric(two.b)).to.equal('1')
      expect(two.b.logText()).to.contain('each process enforces its part')
      await two.redis.restart()
      const isShared = (gateway: TestGateway) =>
        gateway.logText().includes('limits are shared again')
      await until('it is used again', () => isShared(two.a) && isShared(two.b))
      expect((await admitOf20(two.a)) + (await admitOf20(two.b))).to.equal(10)
      expect(await metric(two.b)).to.equal('0')
    } finally {
      await two.stop()
    }
  })
})

/** Resolves when both gateways have registered again after both had started. */
async function untilRegistered({ redis }: TwoProcesses): Promise<void> {
  const client = createClient({ url: redis.url })
  await client.connect()
  const registeredAt = async () =>
    (await client.zRangeWithScores('gateway:limits:processes', 0, -1)).map(({ score }) => score)
  try {
    await until('both are there', async () => (await registeredAt()).length === 2)
    const from = Math.max(...(await registeredAt()))
    await until('both say so again', async () => (await registeredAt()).every((at) => at > from))
  } finally {
    client.destroy()
  }
}
