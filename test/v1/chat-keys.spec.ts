import { expect } from 'chai'
import { completion, refusal } from '../support/chat-answers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'
import { startUpstream, type ScriptedAnswer, type Upstream } from '../support/upstream.ts'

describe('several keys of one provider', () => {
  let upstream: Upstream
  let gateway: TestGateway
  let now = Date.now()
  let answers: Record<string, ScriptedAnswer>
  const keys = ['sk-first-key', 'sk-second-key', 'sk-third-key']
  const used = () => upstream.requests.map(({ headers }) => headers.authorization!.slice(7))

  beforeEach(async () => {
    upstream = await startUpstream()
    gateway = await startGateway({
      variables: { OPENAI_API_KEY: keys.join(','), OPENAI_BASE_URL: upstream.url },
      file: { limits: { cache_ttl_seconds: 0, route_tries_max: 1 } },
      clock: () => now,
    })
    answers = {}
    upstream.answer(({ headers }) => answers[headers.authorization!.slice(7)] ?? completion('Hi'))
  })
  afterEach(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  const ask = () =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-4.1', messages: hello },
      { key: gateway.liveKey },
    )

  it('are used in turn', async () => {
    for (let count = 0; count < 4; count++) expect((await ask()).status).to.equal(200)
    expect(used()).to.deep.equal([...keys, keys[0]])
  })

  for (const status of [401, 403, 429]) {
    it(`are replaced by the next key when the provider refuses them with ${status}`, async () => {
      answers[keys[0]!] = refusal(status)
      const response = await ask()
      expect(response.status).to.equal(200)
      expect(response.headers.get('x-gateway-attempts')).to.match(/^openai=\w+, openai=ok$/)
      expect((await ask()).status).to.equal(200)
      expect((await ask()).status).to.equal(200)
      expect(used()).to.deep.equal([keys[0], keys[1], keys[2], keys[1]])
    })
  }

  it('are used again after a pause', async () => {
    answers[keys[0]!] = refusal(429, null, { 'retry-after': '7' })
    await ask()
    delete answers[keys[0]!]
    now += 6999
    await ask()
    await ask()
    expect(used().slice(1)).not.to.include(keys[0])
    now += 1
    for (let count = 0; count < 3; count++) await ask()
    expect(used().slice(-3)).to.include(keys[0])
  })

  it('are each tried once, and the answer is 429, when the provider refuses all of them', async () => {
    for (const key of keys) answers[key] = refusal(429, null, { 'retry-after': '17' })
    const response = await ask()
    expect(response.status).to.equal(429)
    expect(response.headers.get('retry-after')).to.equal('17')
    expect(used()).to.deep.equal(keys)
    const [row] = await gateway.usage()
    expect(JSON.parse(row!.attempts)).to.have.length(3)
  })
})
