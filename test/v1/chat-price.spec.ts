import { expect } from 'chai'
import {
  chunk,
  completion,
  doneEvent,
  finishChunk,
  streamed,
  textChunk,
  usageChunk,
} from '../support/chat-answers.ts'
import { readChunks } from '../support/event-stream.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

type Answer = { usage: { cost: number; cost_status: string; cost_details: object } }

const offPeak = Date.parse('2026-11-20T12:00:00Z')

describe('the cost of an answer of a language model', () => {
  let upstream: Upstream
  let gateway: TestGateway
  let now = offPeak
  before(async () => {
    upstream = await startUpstream()
    const names = ['OPENAI', 'DEEPSEEK', 'GROQ', 'ZAI', 'DASHSCOPE']
    const variables = names.map((name) => [
      [`${name}_API_KEY`, `sk-${name.toLowerCase()}`],
      [`${name}_BASE_URL`, `${upstream.url}/v1`],
    ])
    gateway = await startGateway({
      clock: () => now,
      variables: Object.fromEntries(variables.flat()) as Record<string, string>,
    })
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  beforeEach(() => {
    now = offPeak
  })
  const ask = (model: string, more: object = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model, messages: hello, ...more },
      { key: gateway.liveKey, headers: { 'cache-control': 'no-store' } },
    )

  const rows: { name: string; model: string; usage: Record<string, unknown>; nanoUsd: number }[] = [
    {
      name: 'is the price of the input and output tokens',
      model: 'gpt-5-mini',
      usage: { prompt_tokens: 9, completion_tokens: 4 },
      nanoUsd: 9 * 250 + 4 * 2000,
    },
    {
      name: 'is lower for cached input',
      model: 'gpt-5.4',
      usage: {
        prompt_tokens: 1000,
        completion_tokens: 7,
        prompt_tokens_details: { cached_tokens: 400 },
      },
      nanoUsd: 600 * 2500 + 400 * 250 + 7 * 15_000,
    },
    {
      name: "reads DeepSeek's own name for cached input",
      model: 'deepseek/deepseek-v4-pro',
      usage: { prompt_tokens: 10, completion_tokens: 1, prompt_cache_hit_tokens: 10 },
      // The vendor charges half the price at off-peak times.
      nanoUsd: (10 * 44 + 3960) / 2,
    },
    {
      name: 'counts reasoning as output, once',
      model: 'gpt-5-mini',
      usage: {
        prompt_tokens: 1,
        completion_tokens: 100,
        completion_tokens_details: { reasoning_tokens: 90 },
      },
      nanoUsd: 250 + 100 * 2000,
    },
    {
      name: 'stays in the lower tier at its threshold',
      model: 'gpt-5.4',
      usage: { prompt_tokens: 272_000, completion_tokens: 10 },
      nanoUsd: 272_000 * 2500 + 10 * 15_000,
    },
    {
      name: 'uses the higher tier for the whole request above the threshold',
      model: 'gpt-5.4',
      usage: {
        prompt_tokens: 272_001,
        completion_tokens: 10,
        prompt_tokens_details: { cached_tokens: 1 },
      },
      nanoUsd: 272_000 * 5000 + 500 + 10 * 22_500,
    },
    {
      name: 'rounds half a nano-dollar up, once',
      model: 'groq/gpt-oss-20b',
      usage: {
        prompt_tokens: 3,
        completion_tokens: 0,
        prompt_tokens_details: { cached_tokens: 3 },
      },
      nanoUsd: 113,
    },
    {
      name: 'is zero for a free model',
      model: 'zai/glm-4.7-flash',
      usage: { prompt_tokens: 9, completion_tokens: 4 },
      nanoUsd: 0,
    },
  ]
  for (const { name, model, usage, nanoUsd } of rows) {
    it(name, async () => {
      // The text is empty if no tokens are reported, else the gateway would estimate the tokens.
      const text = usage['completion_tokens'] === 0 ? '' : 'Hi.'
      upstream.answer(completion(text, { usage }))
      const response = await ask(model)
      const answer = (await response.json()) as Answer
      const row = (await gateway.usage()).at(-1)!
      expect(row).to.include({ model, cost_nano_usd: nanoUsd, cost_status: 'exact', outcome: 'ok' })
      expect(Math.round(answer.usage.cost * 1e9)).to.equal(nanoUsd)
      expect(Number(response.headers.get('x-gateway-cost-usd'))).to.equal(nanoUsd / 1e9)
    })
  }

  const thoughts = [
    { what: 'an answer', tokens: 100, reasoning: undefined, usd: 0.00016, status: 'exact' },
    { what: 'an answer with reasoning', tokens: 100, reasoning: 60, usd: 0.00044, status: 'exact' },
    {
      what: 'an answer with reasoning to a long input',
      tokens: 256_001,
      reasoning: 60,
      usd: 0.3084012,
      status: 'exact',
    },
    {
      what: 'an answer with reasoning that was not counted',
      tokens: undefined,
      reasoning: 60,
      // The price of two input tokens and four output tokens.
      usd: 0.0000168,
      status: 'estimated',
    },
  ]
  for (const { what, tokens, reasoning, usd, status } of thoughts) {
    for (const stream of [false, true]) {
      it(`is at the reasoning price for all of ${what}${stream ? ' in a stream' : ''}`, async () => {
        const counts = {
          prompt_tokens: tokens,
          completion_tokens: 100,
          completion_tokens_details: { reasoning_tokens: reasoning ?? 0 },
        }
        const usage = tokens === undefined ? null : counts
        const said = { role: 'assistant', content: '12345678' }
        const message = reasoning === undefined ? said : { ...said, reasoning_content: '12345678' }
        const delta = chunk({ choices: [{ index: 0, delta: message, finish_reason: null }] })
        const end = [finishChunk(), ...(usage === null ? [] : [usageChunk(usage)]), doneEvent]
        const { body } = completion('', { usage })
        const choices = [{ index: 0, message, finish_reason: 'stop' }]
        upstream.answer(
          stream ? { pieces: [delta, ...end] } : { body: { ...(body as object), choices } },
        )
        await (await ask('alibaba/qwen-plus', { stream })).text()
        const row = (await gateway.usage()).at(-1)!
        expect(row).to.include({ cost_nano_usd: Math.round(usd * 1e9), cost_status: status })
      })
    }
  }

  it('is the same in the last chunk of a stream', async () => {
    const usage = { prompt_tokens: 9, completion_tokens: 4 }
    upstream.answer(streamed(['Hi.'], { usage }))
    const response = await ask('gpt-5-mini', {
      stream: true,
      stream_options: { include_usage: true },
    })
    const last = readChunks(await response.text()).at(-1)!
    expect(last.usage).to.include({ cost: 0.000_010_25, cost_status: 'exact' })
    expect((await gateway.usage()).at(-1)).to.include({ cost_nano_usd: 10_250 })
  })

  it('is estimated when the vendor counts nothing', async () => {
    upstream.answer(completion('12345678', { usage: null }))
    const { usage } = (await (await ask('gpt-5-mini')).json()) as Answer
    // Four characters count as one token: two tokens of input and two of output.
    expect(usage).to.include({ cost: (2 * 250 + 2 * 2000) / 1e9, cost_status: 'estimated' })
    expect((await gateway.usage()).at(-1)).to.include({ cost_status: 'estimated' })
  })

  for (const nonsense of [-1, 1.5, 1e300, '9']) {
    it(`is estimated when the vendor counts ${JSON.stringify(nonsense)} tokens`, async () => {
      const usage = { prompt_tokens: nonsense, completion_tokens: nonsense }
      for (const script of [completion('Hi.', { usage }), streamed(['Hi.'], { usage })]) {
        upstream.answer(script)
        const response = await ask('gpt-5.4', { stream: 'pieces' in script })
        expect(response.status).to.equal(200)
        await response.text()
        const row = (await gateway.usage()).at(-1)!
        expect(row).to.include({ outcome: 'ok', cost_status: 'estimated' })
        expect(row.cost_nano_usd).to.be.within(1, 1e6)
      }
    })
  }

  it('shows the prices that it was computed from', async () => {
    upstream.answer(completion('Hi.'))
    const { usage } = (await (await ask('gpt-5-mini')).json()) as Answer
    expect(usage.cost_details).to.deep.equal({
      mode: 'live',
      usd_per_million_input_tokens: 0.25,
      usd_per_million_output_tokens: 2,
    })
  })

  const counted = { prompt_tokens: 1_000_000, completion_tokens: 0 }
  const whole = (model: string, more: object) => {
    const { body } = completion('', { usage: counted })
    upstream.answer({ body: { ...(body as object), ...more } })
    return ask(model)
  }

  it('is the full price in peak hours, and an estimate, since holidays are cheaper', async () => {
    now = Date.parse('2026-11-20T07:00:00Z')
    const { headers } = await whole('deepseek/deepseek-flash', {})
    const row = (await gateway.usage()).find(({ id }) => id === headers.get('x-request-id'))
    expect(row).to.include({ cost_nano_usd: 300_000_000, cost_status: 'estimated' })
    now = Date.parse('2026-11-15T07:00:00Z')
    const answer = (await (await whole('deepseek/deepseek-flash', {})).json()) as Answer
    expect(answer.usage).to.deep.include({ cost: 0.15, cost_status: 'exact' })
    expect(answer.usage.cost_details).to.include({ off_peak: true })
  })

  const tiers = [
    { model: 'gpt-5.4-mini', tier: 'default', usd: 0.75, status: 'exact' },
    { model: 'gpt-5.4-mini', tier: 'flex', usd: 0.375, status: 'exact' },
    { model: 'gpt-5.4-mini', tier: 'priority', usd: 1.5, status: 'exact' },
    { model: 'gpt-5.4-mini', tier: 'scale', usd: null, status: 'unknown' },
    { model: 'gpt-5.4-mini', tier: 7, usd: 0.75, status: 'exact' },
    { model: 'groq/gpt-oss-120b', tier: 'on_demand', usd: 0.15, status: 'exact' },
    { model: 'groq/gpt-oss-120b', tier: 'flex', usd: 0.15, status: 'exact' },
    { model: 'groq/gpt-oss-120b', tier: 'performance', usd: null, status: 'unknown' },
  ]
  for (const { model, tier, usd, status } of tiers) {
    const expected = { cost: usd, cost_status: status }

    it(`of ${model} follows the served tier, ${tier}`, async () => {
      const response = await whole(model, { service_tier: tier })
      expect(((await response.json()) as Answer).usage).to.include(expected)
      const nano = usd === null ? null : Math.round(usd * 1e9)
      expect((await gateway.usage()).at(-1)).to.include({
        cost_nano_usd: nano,
        cost_status: status,
      })
    })

    for (const place of ['every event', 'the first event alone', 'the event with the counts']) {
      it(`of ${model} follows the tier ${tier} in a stream that names it in ${place}`, async () => {
        const named = { service_tier: tier }
        const first = place === 'the event with the counts' ? {} : named
        const last = place === 'the first event alone' ? {} : named
        const ending = chunk({ choices: [], usage: counted, ...last })
        upstream.answer({ pieces: [textChunk('', first), finishChunk(), ending, doneEvent] })
        const stream_options = { include_usage: true }
        const response = await ask(model, { stream: true, stream_options })
        expect(readChunks(await response.text()).at(-1)!.usage).to.include(expected)
      })
    }
  }
})
