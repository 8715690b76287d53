import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type CallOptions, type TestGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'

type Warned = {
  warnings?: { param: string; requested: unknown; applied: unknown; reason: string }[]
}

const noon = Date.parse('2026-11-20T12:00:00Z')
const path = '/v1/images/generations'
const fox = { model: 'zai/cogview-4', prompt: 'a fox', size: '512x512' }
const adjusted = { ...fox, size: '500x500' }
const strict: CallOptions = { headers: { 'x-gateway-strict': 'true' } }

describe('the headers of an answer', () => {
  let gateway: TestGateway
  let now = noon
  before(async () => {
    const limits = { requests_per_minute: 100, cache_ttl_seconds: 0 }
    gateway = await startGateway({ clock: () => now, file: { limits } })
  })
  after(() => gateway.stop())
  beforeEach(() => {
    now = noon
  })
  const chat = (body: object = {}, init: CallOptions = {}) =>
    gateway.post('/v1/chat/completions', { model: 'gpt-5-mini', messages: hello, ...body }, init)

  it('say how the call was handled', async () => {
    const { headers } = await chat()
    const [row] = (await gateway.usage()).slice(-1)
    expect(headers.get('x-gateway-model')).to.equal('gpt-5-mini')
    expect(headers.get('x-gateway-provider')).to.equal('sandbox')
    expect(headers.get('x-gateway-cache')).to.equal('miss')
    expect(headers.get('x-gateway-attempts')).to.equal('sandbox=ok')
    expect(headers.get('x-gateway-warnings')).to.equal(null)
    expect(headers.get('x-gateway-cost-usd')).to.match(/^0\.\d{1,9}$/)
    expect(Number(headers.get('x-gateway-cost-usd')) * 1e9).to.be.closeTo(row!.cost_nano_usd!, 1e-6)
    expect(row!.id).to.equal(headers.get('x-request-id'))
  })

  it('come with a stream as far as they are available at its start', async () => {
    const response = await chat({ stream: true })
    await response.text()
    expect(response.headers.get('x-gateway-model')).to.equal('gpt-5-mini')
    expect(response.headers.get('x-gateway-attempts')).to.equal('sandbox=ok')
    expect(response.headers.get('x-ratelimit-limit-requests')).to.equal('100')
    expect(response.headers.get('x-gateway-cost-usd')).to.equal(null)
  })

  it("have the state of the rate limit in OpenAI's and in the IETF's format", async () => {
    const first = (await chat()).headers
    const second = (await chat()).headers
    const [before, left] = [first, second].map((headers) =>
      Number(headers.get('x-ratelimit-remaining-requests')),
    )
    expect(left).to.equal(before! - 1)
    expect(second.get('x-ratelimit-limit-requests')).to.equal('100')
    expect(second.get('x-ratelimit-reset-requests')).to.match(/^([1-9]|[1-5]\d|60)s$/)
    const seconds = Number.parseInt(second.get('x-ratelimit-reset-requests')!, 10)
    expect(second.get('ratelimit')).to.equal(`"requests-per-account";r=${left};t=${seconds}`)
    expect(second.get('ratelimit-policy')).to.equal('"requests-per-account";q=100;w=60')
  })

  it('count the adjustments that the body lists', async () => {
    const response = await gateway.post(path, { ...adjusted, style: 'natural' })
    const { warnings = [] } = (await response.json()) as Warned
    expect(response.status).to.equal(200)
    expect(response.headers.get('x-gateway-warnings')).to.equal('2')
    expect(warnings.map(({ param }) => param)).to.deep.equal(['size', 'style'])
    expect(warnings[1]).to.include({ requested: 'natural', applied: null })
  })

  it('have no count of warnings without warnings', async () => {
    const response = await gateway.post(path, fox)
    expect(response.headers.get('x-gateway-warnings')).to.equal(null)
    expect(await response.json()).not.to.have.property('warnings')
  })

  it('of a strict request turn an adjustment into a refusal', async () => {
    const before = (await gateway.usage()).length
    const expected = { status: 400, code: 'unsupported_parameter', param: 'size' }
    await expectError(await gateway.post(path, adjusted, strict), expected)
    expect(await gateway.usage()).to.have.length(before)
  })

  it('of a strict request refuse an adjusted answer of the cache as well', async () => {
    await using remembering = await startGateway()
    expect((await remembering.post(path, adjusted)).status).to.equal(200)
    const response = await remembering.post(path, adjusted, strict)
    await expectError(response, { status: 400, code: 'unsupported_parameter', param: 'size' })
  })

  it('of a strict request change nothing without adjustments', async () => {
    expect((await gateway.post(path, fox, strict)).status).to.equal(200)
  })

  it('announce the shutdown of a model', async () => {
    const retiring = (await chat({ model: 'claude-sonnet-4-5' })).headers
    expect(retiring.get('sunset')).to.equal('Mon, 30 Nov 2026 00:00:00 GMT')
    const deprecated = await gateway.post(path, {
      model: 'alibaba/qwen-image-plus',
      prompt: 'a fox',
      size: '1328x1328',
    })
    expect(deprecated.headers.get('deprecation')).to.equal(
      `@${Date.parse('2026-09-02T00:00:00Z') / 1000}`,
    )
    const active = (await chat({ model: 'gpt-5.4-mini' })).headers
    expect([active.get('sunset'), active.get('deprecation')]).to.deep.equal([null, null])
  })

  it('are replaced by 410 after the shutdown', async () => {
    now = Date.parse('2027-05-07T00:00:00Z')
    const response = await chat({ model: 'gemini-3.1-flash-lite' })
    await expectError(response, { status: 410, code: 'model_deactivated', param: 'model' })
  })

  it('cannot be forged by the name of a model', async () => {
    const response = await chat({ model: 'nobody/狐\r\nx-evil: 1' })
    await expectError(response, { status: 404, code: 'model_not_found' })
    expect(response.headers.get('x-evil')).to.equal(null)
  })
})
