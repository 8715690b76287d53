import { expect } from 'chai'
import { readScenarios, scenarios } from '../../src/providers/sandbox/scenario.ts'
import { contract } from '../support/contract.ts'
import { readEvents } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type CallOptions, type TestGateway } from '../support/gateway.ts'
import { quickLimits } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'

type Scenario = {
  reach: string
  value?: 'name' | { least: number; most: number; otherwise?: number }
}
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

describe('the scenarios of the sandbox', () => {
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
        const isUnknown = prompt === 'sandbox:reset' && face === 'a picture'
        const row = await lastAttempt()
        expect(row).to.include({ attempt, outcome: isUnknown ? 'unknown' : 'failed' })
        // A call costs nothing, unless its cost is unknown.
        expect(row.cost_nano_usd).to.equal(row.cost_status === 'unknown' ? null : 0)
      })
    }
  }

  it('sandbox:delay waits for the given time', async () => {
    const startedAt = performance.now()
    const response = await chat('sandbox:delay=300')
    expect(response.status).to.equal(200)
    expect(performance.now() - startedAt).to.be.within(290, 5000)
  })

  it('sandbox:delay completes its call after the caller disconnects', async () => {
    const before = (await gateway.usage()).length
    const signal = AbortSignal.timeout(500)
    const error = await chat('sandbox:delay=1500', {}, { signal }).catch((e: unknown) => e)
    expect((error as Error).name).to.equal('TimeoutError')
    await until('there is a row', async () => (await gateway.usage()).length > before)
    expect((await lastAttempt()).outcome).to.equal('ok')
  })

  it('sandbox:cut-stream breaks off in the middle of a stream', async () => {
    const response = await chat('sandbox:cut-stream', { stream: true })
    const events = readEvents(await response.text())
    expect(response.status).to.equal(200)
    expect(events.length).to.be.greaterThan(3)
    expect(events.at(-1)!.name).to.equal('error')
    expect(await lastAttempt()).to.include({ outcome: 'failed', cost_status: 'estimated' })
  })

  it('sandbox:cut-stream also breaks off a whole answer', async () => {
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

  it('sandbox:first-route-fails fails over when a model has two routes', async () => {
    const response = await chat('sandbox:first-route-fails', { model: 'gpt-5' })
    expect(response.status).to.equal(200)
    expect(response.headers.get('x-gateway-attempts')).to.equal('sandbox=overloaded, sandbox-2=ok')
  })

  it('sandbox:first-route-fails simulates a second route when a model has one', async () => {
    for (const ask of [
      chat('sandbox:first-route-fails'),
      chat('sandbox:first-route-fails', { stream: true }),
      paint('sandbox:first-route-fails'),
    ]) {
      const response = await ask
      expect(response.status).to.equal(200)
      expect(response.headers.get('x-gateway-attempts')).to.equal(
        'sandbox=overloaded, sandbox-2=ok',
      )
      expect(response.headers.get('x-gateway-provider')).to.equal('sandbox-2')
      await response.text()
    }
  })

  it('sandbox:first-route-fails fails for a caller who disables failover', async () => {
    const headers = { 'x-gateway-no-fallback': 'true' }
    await expectError(await chat('sandbox:first-route-fails', {}, { headers }), failed)
  })

  it('another failure scenario calls no second route', async () => {
    await expectError(await chat('sandbox:status=500'), failed)
    expect((await lastAttempt()).attempts).to.not.include('sandbox-2')
  })

  it('sandbox:rate-limit has a Retry-After up to the maximum of the gateway', async () => {
    for (const [prompt, seconds] of [
      ['sandbox:rate-limit=20', '20'],
      ['sandbox:rate-limit=3600', '60'],
    ] as const) {
      const response = await chat(prompt)
      await expectError(response, { status: 429, code: 'rate_limit_exceeded' })
      expect(response.headers.get('retry-after')).to.equal(seconds)
    }
  })

  for (const { prompt, reason } of [
    { prompt: 'sandbox:statsu=429', reason: "Did you mean 'sandbox:status'?" },
    { prompt: 'please sandbox:nonsense', reason: 'Scenarios: status, ' },
    { prompt: 'sandbox:status', reason: 'a whole number from 400 to 599' },
    { prompt: 'sandbox:status=200', reason: 'a whole number from 400 to 599' },
    { prompt: 'sandbox:delay=abc', reason: "Not 'sandbox:delay=abc'" },
    { prompt: 'sandbox:delay=60001', reason: 'a whole number from 0 to 60000' },
    { prompt: 'sandbox:delay=', reason: 'a whole number from 0 to 60000' },
    { prompt: 'sandbox:malformed=1', reason: 'takes no value' },
    { prompt: 'sandbox:status=500 sandbox:status=400', reason: 'given twice' },
    { prompt: `sandbox:${'x'.repeat(100_000)}`, reason: 'Scenarios: ' },
  ]) {
    it(`an invalid scenario is refused with the reason: ${prompt.slice(0, 40)}`, async () => {
      for (const [ask, param] of [
        [chat(prompt), 'messages'],
        [chat(prompt, { stream: true }), 'messages'],
        [paint(prompt.slice(0, 4000)), 'prompt'],
        [chat(prompt.slice(0, 4000), { model: 'qwen-image-plus' }), 'messages'],
      ] as const) {
        const { message } = await expectError(await ask, {
          status: 400,
          code: 'invalid_value',
          param,
        })
        expect(message).to.include(reason)
        expect(message.length).to.be.below(500)
      }
    })
  }

  it('a scenario for conversations is refused for a picture', async () => {
    const { message } = await expectError(await paint('sandbox:tool-call'), {
      status: 400,
      code: 'invalid_value',
    })
    expect(message).to.include("'sandbox:tool-call' is for language models")
    expect(message).to.include('Scenarios: status').and.to.not.include('tool-call,')
  })

  it('a scenario is read in any case, and before a full stop', async () => {
    await expectError(await chat('Sandbox:Status=413.'), {
      status: 413,
      code: 'request_too_large',
    })
  })

  it('each scenario is documented in the contract, with a valid example', () => {
    const { description } = (contract as unknown as { info: { description: string } }).info
    const rows = [...description.matchAll(/^\| `(sandbox:([a-z-]+)[^`]*)` \| (.+) \|$/gm)]
    expect(rows.map(([, , name]) => name)).to.deep.equal(Object.keys(scenarios))
    for (const [, example = ''] of rows) expect(readScenarios(example, 'chat')).to.be.an('object')
  })

  for (const [name, { value }] of Object.entries<Scenario>(scenarios)) {
    if (typeof value !== 'object') continue
    it(`sandbox:${name} takes the numbers that the contract says`, () => {
      const { description } = (contract as unknown as { info: { description: string } }).info
      const row = new RegExp(String.raw`^\| \`sandbox:${name}=.*$`, 'm').exec(description)![0]
      const { least, most, otherwise } = value
      if (name === 'status') expect(row).to.include(`${least} to ${most}`)
      else expect(row).to.include(`at most ${most}`)
      expect(row.includes('(default ')).to.equal(otherwise !== undefined)
      if (otherwise !== undefined) expect(row).to.include(`(default ${otherwise})`)
    })
  }
})
