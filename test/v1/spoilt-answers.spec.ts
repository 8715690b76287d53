import { expect } from 'chai'
import { textChunk, usageChunk } from '../support/chat-answers.ts'
import { startEveryVendor, type EveryVendor } from '../support/every-vendor.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

const painters = new Set([
  'gemini-3.1-flash-image',
  'gpt-image-1.5',
  'bytedance/seedream-4-5',
  'qwen-image-plus',
])

const openai = { prompt_tokens: 10, completion_tokens: 4 }
const anthropic = { input_tokens: 10, output_tokens: 4 }
const gemini = { promptTokenCount: 10, candidatesTokenCount: 4 }
const ark = { generated_images: 1, output_tokens: 16_384 }
const qwen = { image_count: 1, width: 1024, height: 1024 }
const tokens = { input_tokens: 10, output_tokens: 4, images: 0 }
const blocked = {
  promptFeedback: { blockReason: 'SAFETY' },
  usageMetadata: { promptTokenCount: 10 },
}
const refused = (code: string) => ({ error: { code, type: 'invalid_request_error' } })
const hidden = refused('OutputImageSensitiveContentDetected')
const asked = { ...tokens, output_tokens: 0 }
/** Invalid answers of status 200 that report usage. */
const spoilt: [name: string, model: string, body: object, counts: object][] = [
  ['has no choices', 'gpt-4.1', { choices: [], usage: openai }, tokens],
  ['has no message', 'gpt-4.1', { choices: [null], usage: openai }, tokens],
  ['refuses', 'gpt-4.1', { ...refused('content_filter'), usage: openai }, tokens],
  ['has no content', 'claude-sonnet-4-6', { usage: anthropic }, tokens],
  ['refuses', 'claude-sonnet-4-6', { ...refused(''), usage: anthropic }, tokens],
  ['has no candidates', 'gemini-3-flash-preview', { usageMetadata: gemini }, tokens],
  ['refuses', 'gemini-3-flash-preview', blocked, asked],
  ['refuses a picture', 'gemini-3.1-flash-image', blocked, asked],
  ['has no picture', 'gemini-3.1-flash-image', { usageMetadata: gemini }, tokens],
  ['refuses a picture', 'gpt-image-1.5', { ...refused(''), usage: anthropic }, tokens],
  ['withholds a picture', 'bytedance/seedream-4-5', { data: [hidden], usage: ark }, { images: 1 }],
  ['delivers no picture', 'qwen-image-plus', { output: {}, usage: qwen }, { images: 1 }],
  ['refuses a picture', 'qwen-image-plus', { code: 'InternalError', usage: qwen }, { images: 1 }],
]

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`
const sse = { 'content-type': 'text/event-stream' }
const filtered = { ...refused('content_filter'), usage: openai }
const started = event({ type: 'message_start', message: { usage: anthropic } })
const failedEvent = event({ type: 'error', error: { type: 'overloaded_error', message: 'no' } })
/** Streams that report usage, but contain no chunk for the caller. */
const spoiltStreams: [string, string, ScriptedAnswer, counts: object][] = [
  ['refuses', 'gpt-4.1', { pieces: [event(filtered)] }, tokens],
  ['fails after its counts', 'gpt-4.1', { pieces: [usageChunk(openai), event(filtered)] }, tokens],
  ['is no stream and refuses', 'gpt-4.1', { body: filtered }, tokens],
  ['fails', 'claude-sonnet-4-6', { pieces: [started, failedEvent] }, tokens],
  ['ends', 'claude-sonnet-4-6', { pieces: [started] }, tokens],
  ['refuses', 'gemini-3-flash-preview', { pieces: [event(blocked)] }, asked],
  ['ends', 'gemini-3-flash-preview', { pieces: [event({ usageMetadata: gemini })] }, tokens],
]

describe('the usage that a vendor reports in an invalid answer', () => {
  let house: EveryVendor
  before(async () => {
    house = await startEveryVendor()
  })
  after(() => house.stop())

  for (const [name, model, body, counts] of spoilt) {
    it(`is charged when an answer of ${model} ${name}`, async () => {
      house.upstream.answer({ body })
      const { gateway, ask } = house
      const rowsBefore = (await gateway.usage()).length
      const init = { key: gateway.liveKey }
      const answer = await (painters.has(model)
        ? gateway.post('/v1/images/generations', { model, prompt: 'x' }, init)
        : ask(model, false))
      expect(answer.status, await answer.text()).to.be.at.least(400)
      const [row] = (await gateway.usage()).slice(rowsBefore)
      expect(row).to.include({ outcome: 'failed', cost_status: 'exact', ...counts })
      expect(row!.cost_nano_usd).to.be.greaterThan(0)
    })
  }

  for (const [name, model, answer, counts] of spoiltStreams) {
    it(`is charged when a stream of ${model} ${name} before its first chunk`, async () => {
      house.upstream.answer({ headers: sse, ...answer })
      const { gateway, ask } = house
      const rowsBefore = (await gateway.usage()).length
      const refused = await ask(model, true)
      expect(refused.status, await refused.text()).to.be.at.least(400)
      const [row] = (await gateway.usage()).slice(rowsBefore)
      expect(row).to.include({ outcome: 'failed', cost_status: 'exact', ...counts })
      expect(row!.cost_nano_usd).to.be.greaterThan(0)
    })
  }

  it('is estimated when a stream ends before its first chunk', async () => {
    house.upstream.answer({ headers: sse, pieces: [started], reset: 'after' })
    const { gateway, ask } = house
    const rowsBefore = (await gateway.usage()).length
    const refused = await ask('claude-sonnet-4-6', true)
    expect(refused.status, await refused.text()).to.equal(502)
    const [row] = (await gateway.usage()).slice(rowsBefore)
    expect(row).to.include({ outcome: 'failed', cost_status: 'estimated', ...tokens })
  })

  it('is charged for a refused call that was streamed unrequested', async () => {
    house.upstream.answer({
      headers: sse,
      pieces: [textChunk('Fine.'), usageChunk(openai), event(filtered)],
    })
    const { gateway, ask } = house
    const rowsBefore = (await gateway.usage()).length
    const refused = await ask('gpt-4.1', false)
    expect(refused.status, await refused.text()).to.equal(400)
    const [row] = (await gateway.usage()).slice(rowsBefore)
    expect(row).to.include({ outcome: 'failed', cost_status: 'exact', ...tokens })
  })
})
