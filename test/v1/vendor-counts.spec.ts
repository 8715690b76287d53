import { expect } from 'chai'
import fc from 'fast-check'
import { chunk, completion, doneEvent, finishChunk, textChunk } from '../support/chat-answers.ts'
import { startEveryVendor, type EveryVendor } from '../support/every-vendor.ts'
import { pixel } from '../support/pixel.ts'
import type { ReceivedRequest, ScriptedAnswer } from '../support/upstream.ts'

/** Priced models of each wire format and of each vendor with its own way of counting. */
const models = [
  'gemini-3.5-flash',
  'claude-sonnet-4-6',
  'gpt-4.1',
  'xai/grok-4.3',
  'deepseek/deepseek-flash',
  'groq/llama-3.3-70b-versatile',
  'moonshot/kimi-k2.6',
  'openrouter/some/model',
  'own/house-1',
]
const painters = ['gemini-3.1-flash-image', 'gpt-image-1.5', 'bytedance/seedream-4-5']

/** The members of `usage` that the gateway reads, of all vendors. */
const names = [
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'cached_tokens',
  'prompt_cache_hit_tokens',
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'cachedContentTokenCount',
  'cost',
  'is_byok',
  'cost_in_usd_ticks',
  'service_tier',
]
const detailNames = [
  'prompt_tokens_details',
  'completion_tokens_details',
  'input_tokens_details',
  'output_tokens_details',
  'cost_details',
]
const inDetails = [
  'cached_tokens',
  'audio_tokens',
  'image_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'thinking_tokens',
  'upstream_inference_cost',
]

const picture = pixel.slice(pixel.indexOf(',') + 1)

/** Numbers as JSON may write them: `1e999` is read as Infinity. */
const huge = '1e999'
const odd = fc.oneof(
  fc.constantFrom<unknown>(1e18, -1, 0.5, 12.25, 2 ** 53, 1e308, 5e-324, -0, huge, '12', 'many'),
  fc.constantFrom<unknown>(null, true, {}, [], [7], { value: 7 }, Number.MAX_SAFE_INTEGER),
)
const count = fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 3_000_000 }) }, odd)
const object = (of: readonly string[]) =>
  fc.dictionary(fc.constantFrom(...of), count, { maxKeys: of.length })
const details = fc.oneof(object(inDetails), odd)
const modalities = fc.oneof(
  fc.array(fc.record({ modality: fc.constantFrom('IMAGE', 'AUDIO', 7), tokenCount: count })),
  odd,
)
const usages = fc
  .tuple(
    object(names),
    fc.dictionary(fc.constantFrom(...detailNames), details),
    fc.dictionary(fc.constantFrom('promptTokensDetails', 'candidatesTokensDetails'), modalities),
  )
  .map((members) => ({
    prompt_tokens: 9,
    promptTokenCount: 9,
    input_tokens: 9,
    ...merged(members),
  }))
const merged = (members: readonly object[]): object => Object.assign({}, ...members)

/** Upper bound of the cost of one call of these models, in dollars. */
const usdMax = 1000
type Usage = Record<string, number> & {
  prompt_tokens_details?: Record<string, number>
  completion_tokens_details?: Record<string, number>
}

function expectPossible(usage: Usage, how: string): void {
  const { prompt_tokens: input = 0, completion_tokens: output = 0, cost } = usage
  const countsAndLimits = [
    [input, Infinity],
    [output, Infinity],
    [usage['total_tokens'], Infinity],
    ...Object.values(usage.prompt_tokens_details ?? {}).map((tokens) => [tokens, input]),
    ...Object.values(usage.completion_tokens_details ?? {}).map((tokens) => [tokens, output]),
  ] as [number, number][]
  for (const [tokens, most] of countsAndLimits) {
    expect(Number.isSafeInteger(tokens), how).to.equal(true)
    expect(tokens, how).to.be.within(0, Math.min(most, 10_000_000))
  }
  if (cost !== null) expect(cost, how).to.be.within(0, usdMax)
}

describe('the token counts of a vendor', () => {
  let house: EveryVendor
  before(async () => {
    house = await startEveryVendor({ limits: { requests_per_minute: 1_000_000 } })
  })
  after(() => house.stop())

  for (const model of models) {
    it(`are limited to possible values, with ${model}`, async () => {
      await fc.assert(
        fc.asyncProperty(usages, fc.boolean(), async (usage, stream) => {
          house.upstream.answer((request) => answerWith(usage, stream, request))
          const rowsBefore = (await house.gateway.usage()).length
          const body = { model, messages: [{ role: 'user', content: 'hello' }], stream }
          const counted = stream ? { stream_options: { include_usage: true } } : {}
          const { gateway } = house
          const init = { key: gateway.liveKey, headers: { 'cache-control': 'no-store' } }
          const asked = await gateway.post('/v1/chat/completions', { ...body, ...counted }, init)
          const text = await asked.text()
          expect(asked.status, text).to.equal(200)
          const last =
            text
              .match(/^data: \{.*"usage":\{.*$/gm)
              ?.at(-1)
              ?.slice(6) ?? text
          expectPossible((JSON.parse(last) as { usage: Usage }).usage, text)
          if (stream) expect(text).to.match(/data: \[DONE\]\n\n$/)
          const [row, ...others] = (await gateway.usage()).slice(rowsBefore)
          expect(others).to.deep.equal([])
          const { cost_nano_usd: cost, input_tokens: input, output_tokens: output } = row!
          for (const one of [cost ?? 0, input, output]) {
            expect(Number.isSafeInteger(one)).to.equal(true)
            expect(one).to.be.at.least(0)
          }
        }),
        { numRuns: 25 },
      )
    })
  }

  for (const model of painters) {
    it(`are limited to possible values, with pictures of ${model}`, async () => {
      await fc.assert(
        fc.asyncProperty(usages, async (usage) => {
          const inlineData = { mimeType: 'image/png', data: picture }
          const candidates = [{ content: { parts: [{ inlineData }] } }]
          const data = [{ b64_json: picture }]
          house.upstream.answer({ body: json({ data, usage, candidates, usageMetadata: usage }) })
          const { gateway } = house
          const init = { key: gateway.liveKey, headers: { 'cache-control': 'no-store' } }
          const asked = await gateway.post('/v1/images/generations', { model, prompt: 'x' }, init)
          const text = await asked.text()
          expect(asked.status, text).to.equal(200)
          const counted = (JSON.parse(text) as { usage: Usage }).usage
          const { input_tokens: input = 0, output_tokens: output = 0, cost } = counted
          const { input_tokens_details: parts } = counted as unknown as Record<string, object>
          for (const tokens of [input, output, ...(Object.values(parts!) as number[])]) {
            expect(Number.isSafeInteger(tokens), text).to.equal(true)
            expect(tokens, text).to.be.within(0, 10_000_000)
          }
          if (cost !== null) expect(cost, text).to.be.within(0, usdMax)
        }),
        { numRuns: 25 },
      )
    })
  }

  it('are estimated when they are impossible, and used unchanged otherwise', async () => {
    const usageWith = (counts: object) => ({ prompt_tokens: 10, completion_tokens: 4, ...counts })
    const rows: [object, number, number, string][] = [
      [usageWith({}), 10, 4, 'exact'],
      [usageWith({ prompt_tokens: '10' }), 10, 4, 'estimated'],
      [usageWith({ completion_tokens: 3.5 }), 10, 4, 'estimated'],
      [usageWith({ prompt_tokens_details: { cached_tokens: 11 } }), 10, 4, 'estimated'],
      [usageWith({ completion_tokens_details: { reasoning_tokens: 5 } }), 10, 4, 'estimated'],
      [usageWith({ completion_tokens: 1e18 }), 2, 2, 'estimated'],
      [usageWith({ completion_tokens: -1 }), 2, 2, 'estimated'],
      [usageWith({ prompt_tokens: 5_000_000 }), 2, 2, 'estimated'],
    ]
    for (const [usage, input, output, status] of rows) {
      for (const stream of [false, true]) {
        house.upstream.answer((request) => answerWith(usage, stream, request))
        const rowsBefore = (await house.gateway.usage()).length
        await (await house.ask('gpt-4.1', stream)).text()
        const [row] = (await house.gateway.usage()).slice(rowsBefore)
        const expected = { input_tokens: input, output_tokens: output, cost_status: status }
        expect(row, JSON.stringify(usage)).to.include(expected)
      }
    }
  })
})

/** An answer with these counts in the vendor's format. */
function answerWith(usage: object, stream: boolean, { path }: ReceivedRequest): ScriptedAnswer {
  const data = (event: object) => `data: ${json(event)}\n\n`
  if (/generateContent/i.test(path)) {
    const content = { parts: [{ text: 'Fine.' }] }
    const answer = { candidates: [{ content, finishReason: 'STOP' }], usageMetadata: usage }
    return stream ? { pieces: [data(answer)] } : { body: json(answer) }
  }
  if (path.includes('/messages')) {
    const content = [{ type: 'text', text: 'Fine.' }]
    if (!stream) return { body: json({ content, usage, stop_reason: 'end_turn' }) }
    const ended = { stop_reason: 'end_turn' }
    return {
      pieces: [
        data({ type: 'message_start', message: { usage } }),
        data({ type: 'content_block_start', index: 0, content_block: content[0] }),
        data({ type: 'message_delta', delta: ended, usage }),
        data({ type: 'message_stop' }),
      ],
    }
  }
  if (!stream) return { body: json({ ...(completion('Fine.').body as object), usage }) }
  const counts = data({ ...(JSON.parse(chunk({}).slice(6)) as object), choices: [], usage })
  return { pieces: [textChunk('Fine.'), finishChunk(), counts, doneEvent] }
}

/** JSON that may contain numbers out of range. */
function json(value: object): string {
  return JSON.stringify(value).replaceAll(`"${huge}"`, huge)
}
