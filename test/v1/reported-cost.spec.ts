import { expect } from 'chai'
import fc from 'fast-check'
import { nanoUsdOf } from '../../src/providers/wire/reported-cost.ts'
import { completion, streamed, textChunk, usageChunk, usage } from '../support/chat-answers.ts'
import { readChunks } from '../support/event-stream.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

type Answer = { usage: { cost: number | null; cost_status: string; cost_details: object } }
type Reported = {
  name: string
  model: string
  usage: Record<string, unknown>
  nanoUsd: number | null
  status: string
  details?: object
}

const router = 'openrouter/openai/gpt-5-mini'
const grok = 'xai/grok-4.3'
// The list price of 9 input tokens at $1.25 and 4 output tokens at $2.50 a million.
const listed = 9 * 1250 + 4 * 2500

const rows: Reported[] = [
  {
    name: 'is the charge that OpenRouter reports, though its models have no listed price',
    model: router,
    usage: { cost: 0.000_123_456_789, is_byok: false, cost_details: {} },
    nanoUsd: 123_457,
    status: 'reported',
  },
  {
    name: 'may be zero',
    model: router,
    usage: { cost: 0, is_byok: false },
    nanoUsd: 0,
    status: 'reported',
  },
  {
    name: "adds the upstream charge for the operator's own key",
    model: router,
    usage: { cost: 0.95, is_byok: true, cost_details: { upstream_inference_cost: 19 } },
    nanoUsd: 19_950_000_000,
    status: 'reported',
    details: { mode: 'live', usd_upstream: 19 },
  },
  {
    name: 'is unknown when only the fee is reported, not the upstream charge',
    model: router,
    usage: { cost: 0.95, is_byok: true, cost_details: { upstream_inference_cost: null } },
    nanoUsd: null,
    status: 'unknown',
  },
  {
    name: 'is converted from ticks of xAI, ten to a nano-dollar',
    model: grok,
    usage: { cost_in_usd_ticks: 37_756_000 },
    nanoUsd: 3_775_600,
    status: 'reported',
  },
  {
    name: 'is rounded once, half up',
    model: grok,
    usage: { cost_in_usd_ticks: 5 },
    nanoUsd: 1,
    status: 'reported',
  },
  {
    name: 'has the searches of Perplexity',
    model: 'perplexity/sonar-pro',
    usage: { cost: { input_tokens_cost: 0.0001, request_cost: 0.006, total_cost: 0.0061 } },
    nanoUsd: 6_100_000,
    status: 'reported',
  },
  {
    name: 'is the estimate of DeepInfra',
    model: 'deepinfra/zai-org/GLM-5.3',
    usage: { estimated_cost: 0.000_026_8 },
    nanoUsd: 26_800,
    status: 'reported',
  },
  ...[-1, 1e300, '37756000', null, [], {}, true].map((ticks) => ({
    name: `of ${JSON.stringify(ticks)} ticks is ignored, and the list price applies`,
    model: grok,
    usage: { cost_in_usd_ticks: ticks },
    nanoUsd: listed,
    status: 'exact',
  })),
  {
    name: 'is ignored from a vendor that does not document it',
    model: 'gpt-5.4',
    usage: { cost: 0, cost_in_usd_ticks: 0 },
    nanoUsd: 9 * 2500 + 4 * 15_000,
    status: 'exact',
  },
]

describe('the cost that a vendor reports', () => {
  let upstream: Upstream
  let gateway: TestGateway
  before(async () => {
    upstream = await startUpstream()
    const variables = ['OPENROUTER', 'XAI', 'OPENAI', 'PERPLEXITY', 'DEEPINFRA'].flatMap((name) => [
      [`${name}_API_KEY`, 'sk-x'],
      [`${name}_BASE_URL`, upstream.url],
    ])
    gateway = await startGateway({
      variables: Object.fromEntries(variables) as Record<string, string>,
      file: { limits: { cache_ttl_seconds: 0, route_tries_max: 1 } },
    })
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  const ask = (body: object, path = '/v1/chat/completions') =>
    gateway.post(path, body, { key: gateway.liveKey })

  for (const { name, model, usage: reported, nanoUsd, status, details } of rows) {
    const counts = { ...usage, ...reported }

    it(name, async () => {
      upstream.answer(completion('Hi.', { usage: counts }))
      const response = await ask({ model, messages: hello })
      const answer = (await response.json()) as Answer
      const row = (await gateway.usage()).at(-1)!
      expect(row).to.include({ cost_nano_usd: nanoUsd, cost_status: status })
      expect(answer.usage.cost).to.equal(nanoUsd === null ? null : nanoUsd / 1e9)
      expect(answer.usage.cost_status).to.equal(status)
      if (details !== undefined) expect(answer.usage.cost_details).to.deep.equal(details)
      const header = response.headers.get('x-gateway-cost-usd')
      expect(header === null ? null : Number(header)).to.equal(answer.usage.cost)
    })

    it(`${name}, streamed`, async () => {
      upstream.answer(streamed(['Hi.'], { usage: counts }))
      const stream_options = { include_usage: true }
      const response = await ask({ model, messages: hello, stream: true, stream_options })
      const last = readChunks(await response.text()).at(-1)!
      const row = (await gateway.usage()).at(-1)!
      expect(row).to.include({ cost_nano_usd: nanoUsd, cost_status: status })
      expect(last.usage).to.include({
        cost: nanoUsd === null ? null : nanoUsd / 1e9,
        cost_status: status,
      })
    })
  }

  it('is an estimate when a stream ends early', async () => {
    const counts = usageChunk({ ...usage, cost_in_usd_ticks: 70 })
    upstream.answer({ pieces: [textChunk('Hi '), counts, textChunk('there')], reset: 'after' })
    await (await ask({ model: grok, messages: hello, stream: true })).text()
    expect((await gateway.usage()).at(-1)).to.include({
      outcome: 'failed',
      cost_nano_usd: 7,
      cost_status: 'estimated',
    })
  })

  const paint = { model: 'xai/grok-imagine-image-2.0', prompt: 'a fox', n: 2 }
  const picture = { b64_json: pixel.split(',')[1] }

  it('applies to pictures too', async () => {
    const reported = { cost_in_usd_ticks: 400_000_000 }
    upstream.answer({ body: { created: 1, data: [picture, picture], usage: reported } })
    const response = await ask(paint, '/v1/images/generations')
    const answer = (await response.json()) as Answer
    expect(answer.usage).to.include({ cost: 0.04, cost_status: 'reported' })
    expect((await gateway.usage()).at(-1)).to.include({ cost_nano_usd: 40_000_000, images: 2 })
  })

  it('is added up over the calls of one request', async () => {
    const reported = { cost_in_usd_ticks: 200_000_000 }
    upstream.answer(({ body }) => {
      const { n = 1 } = body as { n?: number }
      const cost = { cost_in_usd_ticks: reported.cost_in_usd_ticks * n }
      return { body: { created: 1, data: Array.from({ length: n }, () => picture), usage: cost } }
    })
    const response = await ask({ ...paint, n: 4 }, '/v1/images/generations')
    const answer = (await response.json()) as Answer
    expect(answer.usage).to.include({ cost: 0.08, cost_status: 'reported' })
  })

  it('is read exactly to the last digit', () => {
    const digits = fc.nat({ max: 999_999_999 })
    fc.assert(
      fc.property(fc.nat({ max: 999 }), digits, (whole, fraction) => {
        const text = `${whole}.${String(fraction).padStart(9, '0')}`
        expect(nanoUsdOf([Number(text)])).to.equal(whole * 1e9 + fraction)
      }),
    )
    expect(nanoUsdOf([0.1, 0.2])).to.equal(300_000_000)
    expect(nanoUsdOf([5e-10])).to.equal(1)
    expect(nanoUsdOf([4.9e-10])).to.equal(0)
    for (const nonsense of [Number.NaN, Infinity, -0.1, 1001, undefined]) {
      expect(nanoUsdOf([nonsense])).to.equal(undefined)
    }
  })
})
