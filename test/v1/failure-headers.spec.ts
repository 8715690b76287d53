import { expect } from 'chai'
import { completion, refusal } from '../support/chat-answers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello, ownProvider, quickLimits } from '../support/own-endpoint.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const chat = '/v1/chat/completions'
const images = '/v1/images/generations'
const noon = Date.parse('2026-11-22T12:00:00Z')

describe('the headers of an error', () => {
  let one: Upstream
  let other: Upstream
  let gateway: TestGateway
  before(async () => {
    ;[one, other] = await Promise.all([startUpstream(), startUpstream()])
    gateway = await startGateway({
      clock: () => noon,
      variables: { OWN_API_KEY: 'sk-own' },
      file: {
        providers: [ownProvider('one', one), ownProvider('other', other)],
        routes: { 'gpt-5.4': ['one/a', 'other/b'], 'gpt-5-mini': ['one'], 'gpt-image-2': ['one'] },
        limits: { ...quickLimits, requests_per_minute: 100, cache_ttl_seconds: 0 },
      },
      bounds: { circuitFailuresMax: 1000 },
    })
  })
  after(async () => {
    await gateway.stop()
    await Promise.all([one.stop(), other.stop()])
  })
  const ask = (model: string, more: object = {}, path = chat) =>
    gateway.post(path, { model, messages: hello, ...more }, { key: gateway.liveKey })
  const routeHeaders = ({ headers }: Response) =>
    Object.fromEntries(
      ['model', 'provider', 'attempts'].map((name) => [name, headers.get(`x-gateway-${name}`)]),
    )

  for (const [name, more, path] of [
    ['a chat', {}, chat],
    ['a stream that did not begin', { stream: true }, chat],
  ] as const) {
    it(`list each try of ${name}`, async () => {
      one.answer(refusal(503))
      other.answer(refusal(504))
      const response = await ask('gpt-5.4', more, path)
      await response.text()
      expect(response.status).to.equal(502)
      expect(routeHeaders(response)).to.deep.equal({
        model: 'gpt-5.4',
        provider: 'other',
        attempts: 'one=overloaded, other=timeout',
      })
      expect(response.headers.get('x-ratelimit-limit-requests')).to.equal('100')
      expect(response.headers.get('ratelimit')).to.match(/^"requests-per-account";r=\d+;t=\d+$/)
    })
  }

  it('list each try of a picture', async () => {
    one.answer(refusal(500))
    const body = { model: 'gpt-image-2', prompt: 'a fox' }
    const response = await gateway.post(images, body, { key: gateway.liveKey })
    expect(response.status).to.equal(502)
    expect(routeHeaders(response)).to.deep.equal({
      model: 'gpt-image-2',
      provider: 'one',
      attempts: 'one=overloaded',
    })
    expect(response.headers.get('x-ratelimit-remaining-requests')).to.match(/^\d+$/)
  })

  it('name the fallback model that was tried last', async () => {
    one.answer(refusal(503))
    other.answer(refusal(503))
    const response = await ask('gpt-5.4', { models: ['gpt-5-mini'] })
    expect(routeHeaders(response)).to.deep.equal({
      model: 'gpt-5-mini',
      provider: 'one',
      attempts: 'one=overloaded, other=overloaded, one=overloaded',
    })
    expect(response.headers.get('sunset')).to.equal('Fri, 11 Dec 2026 00:00:00 GMT')
    expect(response.headers.get('deprecation')).to.equal(`@${Date.parse('2026-06-11') / 1000}`)
  })

  it("list a vendor's refusal", async () => {
    one.answer(refusal(400))
    const response = await ask('gpt-5.4')
    expect(response.status).to.equal(400)
    expect(routeHeaders(response)).to.include({ provider: 'one', attempts: 'one=rejected' })
  })

  it('name only the model when no provider was called', async () => {
    const response = await ask('gpt-5.4', { max_tokens: 10_000_000 })
    expect(response.status).to.equal(400)
    expect(routeHeaders(response)).to.deep.equal({
      model: 'gpt-5.4',
      provider: null,
      attempts: null,
    })
    expect(response.headers.get('x-ratelimit-limit-requests')).to.equal('100')
  })

  it('have only the rate limit when no model was found', async () => {
    const response = await ask('nobody')
    expect(response.status).to.equal(404)
    expect(routeHeaders(response)).to.deep.equal({ model: null, provider: null, attempts: null })
    expect(response.headers.get('x-ratelimit-limit-requests')).to.equal('100')
  })

  for (const [what, model, status] of [
    ['ended', 'gpt-image-1', 410],
    ['has no provider', 'claude-sonnet-4-5', 503],
  ] as const) {
    it(`have the shutdown date of a model that ${what}`, async () => {
      const response = await ask(model)
      expect(response.status).to.equal(status)
      expect(routeHeaders(response)).to.include({ model })
      expect(response.headers.get('sunset')).to.be.a('string')
    })
  }

  it('have a separate limit for each request that shared one answer', async () => {
    const gate = Promise.withResolvers<void>()
    one.answer({ ...refusal(503), after: gate.promise })
    other.answer({ ...refusal(503), after: gate.promise })
    const calls = [ask('gpt-5.4'), ask('gpt-5.4'), ask('gpt-5.4')]
    gate.resolve()
    const answers = await Promise.all(calls)
    const left = answers.map(({ headers }) => headers.get('x-ratelimit-remaining-requests'))
    expect(new Set(left).size).to.equal(3)
    for (const answer of answers) expect(routeHeaders(answer)).to.include({ model: 'gpt-5.4' })
  })

  it('are readable by pages of any origin', async () => {
    one.answer(completion('Hi.'))
    const body = { model: 'nobody', messages: hello }
    const headers = { origin: 'https://page.example' }
    const response = await gateway.post(chat, body, { key: gateway.liveKey, headers })
    const exposed = response.headers.get('access-control-expose-headers')?.toLowerCase() ?? ''
    for (const name of ['x-gateway-attempts', 'x-gateway-model', 'x-gateway-provider', 'sunset']) {
      expect(exposed.split(', '), name).to.include(name)
    }
  })
})
