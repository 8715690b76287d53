import { expect } from 'chai'
import { completion, streamed, usageChunk } from '../support/chat-answers.ts'
import { nanoPerUsd, setBudgetOfKey } from '../support/budgets.ts'
import { readChunks } from '../support/event-stream.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello, ownProvider } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { startUpstream, type ScriptedAnswer, type Upstream } from '../support/upstream.ts'

const usage = { prompt_tokens: 9, completion_tokens: 4 }
/** The price of 9 input tokens at $1 and 4 output tokens at $10 a million. */
const firstNanoUsd = 9 * 1000 + 4 * 10_000
/** Half (off-peak) the price of 9 input tokens at $2 and 4 output tokens at $20 a million. */
const otherNanoUsd = firstNanoUsd
const pictureNanoUsd = 40_000_000

const file = {
  routes: {
    'gpt-5-mini': ['first', 'second'],
    'gpt-4.1': ['second'],
    'zai/cogview-4': ['first'],
    'bytedance/seedream-4-0': ['second'],
  },
  catalog: {
    'gpt-5-mini': { pricing: { input_per_million_tokens: 1, output_per_million_tokens: 10 } },
    'gpt-4.1': {
      pricing: {
        input_per_million_tokens: 2,
        output_per_million_tokens: 20,
        off_peak: { multiplier: 0.5, peak: [{ from: '01:00', to: '02:00', weekdays: [] }] },
      },
    },
    'zai/cogview-4': { pricing: { per_image: [{ usd: 0.04 }] } },
    'bytedance/seedream-4-0': { pricing: { per_image: [{ usd: 0.04 }] } },
  },
}

/** An answer without choices that reports its usage. */
const spoilt: ScriptedAnswer = { body: { choices: [], usage } }
const base64 = pixel.slice(pixel.indexOf(',') + 1)
const picture: ScriptedAnswer = { body: { data: [{ b64_json: base64 }] } }

type Record = {
  cost: {
    amount: { nano_usd: number }
    status: string
    exact_usd: string
    lines: { what: string; units: number; amount: string }[]
  }
  attempts: { outcome: string; cost: { nano_usd: number } | null }[]
}

describe('an attempt that is charged but not delivered', () => {
  let first: Upstream
  let second: Upstream
  let gateway: TestGateway
  let key: string
  beforeEach(async () => {
    first = await startUpstream()
    second = await startUpstream()
    gateway = await startGateway({
      variables: { OWN_API_KEY: 'sk-own' },
      file: {
        providers: [ownProvider('first', first), ownProvider('second', second)],
        limits: { route_tries_max: 1 },
        ...file,
      },
      bounds: { imageCallsConcurrentMax: 1, keyCacheMs: 0 },
    })
    key = await gateway.createKey('live')
    await setBudgetOfKey(gateway, key, { nanoUsd: nanoPerUsd, period: 'total' })
  })
  afterEach(async () => {
    await gateway.stop()
    await first.stop()
    await second.stop()
  })

  const chat = (more: object = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-5-mini', messages: hello, max_completion_tokens: 100, ...more },
      { key },
    )
  const recordOf = async (response: Response) => {
    const path = `/api/requests/${response.headers.get('x-request-id')}`
    return (await (await gateway.fetch(path, { key: gateway.adminKey })).json()) as Record
  }
  const expectLedger = async (response: Response, costs: (number | null)[], own: number) => {
    const { cost, attempts } = await recordOf(response)
    const others = costs.reduce<number>((sum, one) => sum + (one ?? 0), 0)
    expect(attempts.map((one) => one.cost?.nano_usd ?? null)).to.deep.equal(costs)
    expect(cost.amount.nano_usd).to.equal(own + others)
    expect(cost.status).to.equal('exact')
    expect(Number(cost.exact_usd) * 1e9).to.be.closeTo(own + others, 0.001)
    const [row] = await gateway.usage()
    expect(row!.cost_nano_usd).to.equal(own + others)
    const answer = await gateway.fetch('/api/key', { key })
    const { budget } = (await answer.json()) as { budget: { spent: { nano_usd: number } } }
    expect(budget.spent.nano_usd).to.equal(own + others)
    return cost.lines
  }

  it('is added to the cost of the answer of another route', async () => {
    first.answer(spoilt)
    second.answer(completion('Hi.', { usage }))
    const response = await chat()
    expect(response.headers.get('x-gateway-attempts')).to.equal('first=malformed, second=ok')
    expect(response.headers.get('x-gateway-cost-usd')).to.equal('0.000098')
    const answer = (await response.json()) as {
      usage: { prompt_tokens: number; cost_details: object }
    }
    expect(answer.usage).to.include({ prompt_tokens: 9, cost: 0.000098 })
    expect(answer.usage.cost_details).to.include({ usd_other_attempts: 0.000049 })
    const lines = await expectLedger(response, [firstNanoUsd, null], firstNanoUsd)
    expect(lines.map(({ what }) => what)).to.deep.equal([
      'input_tokens',
      'output_tokens',
      'other_attempts',
    ])
  })

  it('is added to the cost of a stream', async () => {
    first.answer({ pieces: [usageChunk(usage), 'data: {"choices":\n\n'] })
    second.answer(streamed(['Hi.'], { usage }))
    const response = await chat({ stream: true, stream_options: { include_usage: true } })
    const last = readChunks(await response.text()).at(-1)!
    expect(last.usage).to.include({ cost: 0.000098 })
    await expectLedger(response, [firstNanoUsd, null], firstNanoUsd)
  })

  it('is charged at the prices and peak hours of its own model', async () => {
    first.answer(spoilt)
    second.answer((_request, index) => (index === 0 ? spoilt : completion('Hi.', { usage })))
    const response = await chat({ models: ['gpt-4.1'] })
    expect(response.status, await response.text()).to.equal(200)
    await expectLedger(response, [firstNanoUsd, firstNanoUsd, null], otherNanoUsd)
  })

  it('is charged for a call that fails at all of its models', async () => {
    first.answer(spoilt)
    second.answer(spoilt)
    const response = await chat({ models: ['gpt-4.1'] })
    expect(response.status, await response.text()).to.equal(502)
    await expectLedger(response, [firstNanoUsd, firstNanoUsd, otherNanoUsd], 0)
  })

  it('is added to the cost of pictures of the fallback model', async () => {
    first.answer((_request, index) => (index === 0 ? picture : { status: 503, delayMs: 50 }))
    second.answer(picture)
    const body = { model: 'zai/cogview-4', models: ['bytedance/seedream-4-0'], prompt: 'a fox' }
    const response = await gateway.post('/v1/images/generations', { ...body, n: 2 }, { key })
    expect(response.status, await response.text()).to.equal(200)
    await expectLedger(response, [pictureNanoUsd, null, null, null], 2 * pictureNanoUsd)
  })
})
