import { expect } from 'chai'
import { contract } from '../support/contract.ts'
import { readEvents } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type CallOptions, type TestGateway } from '../support/gateway.ts'
import { quickLimits } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'

type Row = { prompt: string; status: number; code: string; attempt: string }

const failed = { status: 502, code: 'provider_error' }
const rows: Row[] = [
  { prompt: 'sandbox:status=400', status: 400, code: 'invalid_value', attempt: 'rejected' },
  { prompt: 'sandbox:status=401', ...failed, attempt: 'credentials' },
  { prompt: 'sandbox:status=404', status: 404, code: 'model_not_found', attempt: 'not_found' },
  { prompt: 'sandbox:status=413', status: 413, code: 'request_too_large', attempt: 'too_large' },
  {
    prompt: 'sandbox:status=429',
    status: 429,
    code: 'rate_limit_exceeded',
    attempt: 'rate_limited',
  },
  { prompt: 'sandbox:status=503', ...failed, attempt: 'overloaded' },
  { prompt: 'sandbox:status=504', status: 504, code: 'timeout', attempt: 'timeout' },
  { prompt: 'sandbox:malformed', ...failed, attempt: 'malformed' },
  { prompt: 'sandbox:empty', ...failed, attempt: 'malformed' },
  { prompt: 'sandbox:reset', ...failed, attempt: 'unreachable' },
  { prompt: 'sandbox:insufficient-quota', ...failed, attempt: 'out_of_credit' },
  {
    prompt: 'sandbox:content-policy',
    status: 400,
    code: 'content_policy_violation',
    attempt: 'content_policy',
  },
]

describe('what the sandbox does when the prompt asks for it', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({
      file: { limits: quickLimits, routes: { 'gpt-5': ['openai', 'openai'] } },
    })
  })
  after(() => gateway.stop())
  const chat = (prompt: string, more: object = {}, init: CallOptions = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-5-mini', messages: [{ role: 'user', content: prompt }], ...more },
      init,
    )
  const paint = (prompt: string) =>
    gateway.post('/v1/images/generations', { model: 'zai/cogview-4', prompt, size: '512x512' })
  const lastAttempt = async () => {
    const [row] = (await gateway.usage()).slice(-1)
    const [attempt] = JSON.parse(row!.attempts) as { outcome: string }[]
    return { ...row!, attempt: attempt!.outcome }
  }

  for (const { prompt, attempt, ...expected } of rows) {
    for (const [face, ask] of [
      ['a chat', () => chat(prompt)],
      ['a stream', () => chat(prompt, { stream: true })],
      ['a picture', () => paint(prompt)],
    ] as const) {
      it(`${prompt} in ${face} ends in ${expected.status} ${expected.code}`, async () => {
        await expectError(await ask(), expected)
        expect(await lastAttempt()).to.include({ attempt, outcome: 'failed', cost_nano_usd: 0 })
      })
    }
  }

  it('sandbox:delay waits so long', async () => {
    const startedAt = performance.now()
    const response = await chat('sandbox:delay=300')
    expect(response.status).to.equal(200)
    expect(performance.now() - startedAt).to.be.within(290, 1500)
  })

  it('sandbox:delay does not hold up a caller who leaves', async () => {
    const signal = AbortSignal.timeout(50)
    const error = await chat('sandbox:delay=30000', {}, { signal }).catch((e: unknown) => e)
    expect((error as Error).name).to.equal('TimeoutError')
    await until('there is a row', async () => (await lastAttempt()).outcome === 'cancelled')
  })

  it('sandbox:cut-stream breaks off in the middle of a stream', async () => {
    const response = await chat('sandbox:cut-stream', { stream: true })
    const events = readEvents(await response.text())
    expect(response.status).to.equal(200)
    expect(events.length).to.be.greaterThan(3)
    expect(events.at(-1)!.name).to.equal('error')
    expect(await lastAttempt()).to.include({ outcome: 'failed', cost_status: 'estimated' })
  })

  it('sandbox:cut-stream breaks a whole answer off too', async () => {
    await expectError(await chat('sandbox:cut-stream'), failed)
    await expectError(await paint('sandbox:cut-stream'), failed)
  })

  it('sandbox:no-usage leaves the counts to be estimated', async () => {
    const { usage } = (await (await chat('sandbox:no-usage')).json()) as {
      usage: { cost: number; cost_status: string }
    }
    expect(usage.cost_status).to.equal('estimated')
    expect(usage.cost).to.be.greaterThan(0)
  })

  it('sandbox:first-route-fails fails over where a model has two routes', async () => {
    const response = await chat('sandbox:first-route-fails', { model: 'gpt-5' })
    expect(response.status).to.equal(200)
    expect(response.headers.get('x-gateway-attempts')).to.equal('sandbox=overloaded, sandbox=ok')
  })

  it('sandbox:first-route-fails fails where a model has one', async () => {
    await expectError(await chat('sandbox:first-route-fails'), failed)
  })

  it('answers the same to the same question', async () => {
    const fresh = { headers: { 'cache-control': 'no-store' } }
    const whole = async () => (await chat('fox', {}, fresh)).text()
    expect(await whole()).to.equal(await whole())
  })

  it('is documented in the contract, word by word', async () => {
    const description = (contract as unknown as { info: { description: string } }).info.description
    const words = [...description.matchAll(/`(sandbox:[a-z-]+)/g)].map(([, word]) => word)
    const tested = [...rows.map(({ prompt }) => prompt.split('=')[0]), 'sandbox:delay']
    const others = ['sandbox:cut-stream', 'sandbox:no-usage', 'sandbox:first-route-fails']
    expect(new Set(words)).to.deep.equal(new Set([...tested, ...others]))
  })
})
