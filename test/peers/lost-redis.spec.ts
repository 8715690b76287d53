import { expect } from 'chai'
import { completion, textChunk } from '../support/chat-answers.ts'
import { readEvents } from '../support/event-stream.ts'
import type { TestGateway } from '../support/gateway.ts'
import { postMessages } from '../support/mcp-client.ts'
import { hello, ownProvider } from '../support/own-endpoint.ts'
import { programPath } from '../support/program-path.ts'
import { startTwo, type TwoProcesses } from '../support/two-processes.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

/** The documented limit for ending a revoked key, with default settings. */
const promisedMs = 2000

describe('two processes that have lost their Redis', () => {
  let upstream: Upstream
  let two: TwoProcesses
  let a: TestGateway
  let b: TestGateway
  before(async function () {
    programPath('redis-server', this)
    upstream = await startUpstream()
    const file = { providers: [ownProvider('own', upstream)] }
    two = await startTwo({ variables: { OWN_API_KEY: 'sk-own' }, file })
    ;({ a, b } = two)
  })
  after(async () => {
    await two?.stop()
    await upstream?.stop()
  })
  const redisUp = async (gateway: TestGateway) =>
    /^gateway_redis_up (\d)$/m.exec(await (await gateway.fetch('/metrics')).text())?.[1]
  const chat = (gateway: TestGateway, key: string, more: object = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'own/house-1', messages: hello, ...more },
      { key },
    )

  for (const signal of ['SIGSTOP', 'SIGKILL'] as const) {
    it(`still end keys, and report the outage (${signal})`, async () => {
      expect(await redisUp(b)).to.equal('1')
      const made = await a.post('/api/keys', { name: 'x', mode: 'live' }, { key: a.adminKey })
      const { id, key } = (await made.json()) as { id: string; key: string }
      two.redis.kill(signal)
      await until('the outage is noticed', async () => (await redisUp(a)) === '0')
      upstream.answer({ pieces: [textChunk('one')], hang: true })
      const streamed = await chat(b, key, { stream: true })
      const from = performance.now()
      const ended = await a.fetch(`/api/keys/${id}`, { method: 'DELETE', key: a.adminKey })
      expect(ended.status).to.equal(200)
      const last = readEvents(await streamed.text()).at(-1)!
      expect(JSON.parse(last.data!)).to.have.nested.property('error.code', 'invalid_api_key')
      await until('the key is refused', async () => (await chat(b, key)).status === 401)
      expect(performance.now() - from).to.be.below(promisedMs)
      upstream.answer(completion('one'))
      expect((await chat(b, b.liveKey)).status).to.equal(200)
      expect((await a.reload()).status).to.equal(200)
      const params = { requestId: 7 }
      const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
      expect((await postMessages(a, message)).response.status).to.equal(202)
      if (signal === 'SIGSTOP') two.redis.kill('SIGCONT')
      else await two.redis.restart()
      const back = performance.now()
      await until(
        'it is back',
        async () => (await redisUp(a)) === '1' && (await redisUp(b)) === '1',
      )
      expect(performance.now() - back).to.be.below(promisedMs)
    })
  }

  it('report each outage once', () => {
    for (const gateway of [a, b]) {
      const text = gateway.logText()
      const messages = text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => (JSON.parse(line) as { msg: string }).msg)
      expect(messages.filter((message) => message.startsWith('redis'))).to.deep.equal([
        'redis answers',
        lost,
        'redis answers again',
        lost,
        'redis answers again',
      ])
      expect(text).to.not.match(/"level":"(error|fatal)".*fault/)
    }
  })
})

const lost = 'redis does not answer: each process counts and caches on its own'
