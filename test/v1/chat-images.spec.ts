import { expect } from 'chai'
import { answerComplaints, received } from '../support/answers.ts'
import { readChunks, readEvents } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { openAiClient } from '../support/openai-client.ts'
import { lookAtUrl, type ChatImagesBody } from '../support/pictures.ts'
import { pixel } from '../support/pixel.ts'

const chat = '/v1/chat/completions'
const model = 'gemini-3-pro-image-preview'
const seedream = 'bytedance/seedream-4-0'
const user = (content: unknown) => ({ role: 'user', content })
const text = (words: string) => ({ type: 'text', text: words })
const image = (url: string) => ({ type: 'image_url', image_url: { url } })

describe('a chat with an image model', () => {
  let vendors: ImageVendors
  before(async () => {
    vendors = await startImageVendors({ vendors: ['google', 'alibaba', 'bytedance'] })
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const ask = async (body: object): Promise<ChatImagesBody> => {
    const response = await vendors.post(chat, { model, ...body })
    const answered = await response.text()
    expect(response.status, answered).to.equal(200)
    return JSON.parse(answered) as ChatImagesBody
  }
  const calls = () => Object.values(vendors.doubles).flatMap((double) => double.calls)

  for (const usage of [true, false]) {
    it(`streams all pictures in one chunk, ${usage ? 'then' : 'without'} their cost`, async () => {
      const body = { messages: [user('A kite')], n: 2, stream: true }
      const options = usage ? { stream_options: { include_usage: true } } : {}
      const answer = await received(await vendors.post(chat, { model, ...body, ...options }))
      expect(answerComplaints('createChatCompletion', answer)).to.deep.equal([])
      expect(readEvents(answer.text).at(-1)).to.deep.equal({ data: '[DONE]' })
      const chunks = readChunks(answer.text)
      const withImages = chunks.flatMap(({ choices }) =>
        choices.flatMap(({ delta }) => (delta.images === undefined ? [] : [delta.images])),
      ) as { type: string; image_url: { url: string } }[][]
      expect(withImages).to.have.length(1)
      expect(withImages[0]).to.have.length(2)
      for (const { image_url: made } of withImages[0]!) await lookAtUrl(made.url)
      const costs = chunks.map((chunk) => chunk.usage?.cost)
      expect(costs).to.deep.equal([undefined, undefined, undefined, ...(usage ? [0.27166] : [])])
      const choices = chunks.flatMap((chunk) => chunk.choices)
      expect(choices[0]).to.deep.include({
        delta: { role: 'assistant', content: '', refusal: null },
        finish_reason: null,
      })
      for (const [at, choice] of choices.entries()) {
        expect(choice).to.include({ logprobs: null, finish_reason: at === 2 ? 'stop' : null })
      }
    })
  }

  for (const usage of [true, false]) {
    it(`keeps a stream open while the picture is made, ${usage ? 'with' : 'without'} its cost`, async () => {
      const quick = await startImageVendors({
        vendors: ['google'],
        limits: { ping_interval_ms: 100 },
        bounds: { streamAfterMs: 40 },
      })
      quick.doubles.google.delayBy(() => 300)
      const options = usage ? { stream_options: { include_usage: true } } : {}
      const body = { model, messages: [user('A kite')], stream: true, ...options }
      const answer = await received(await quick.post(chat, body))
      expect(answerComplaints('createChatCompletion', answer)).to.deep.equal([])
      expect(answer.text).to.match(/^: ping\n\n: ping\n\n/)
      expect(answer.headers.get('x-gateway-cost-usd')).to.equal(null)
      const last = readChunks(answer.text).at(-1)
      expect(last?.usage?.cost).to.equal(usage ? 0.13583 : undefined)
      expect(last).to.have.property('late_headers').that.includes({
        'x-gateway-provider': 'google',
        'x-gateway-cost-usd': '0.13583',
      })
      quick.doubles.google.play({ status: 400, body: { error: { message: 'No.' } }, delayMs: 100 })
      const failed = await (await quick.post(chat, body)).text()
      expect(failed).to.match(/^: ping\n\n(?:: ping\n\n)?event: error\ndata: \{"error":.*\}\n\n$/)
      await quick.stop()
    })
  }

  it("can be streamed by OpenAI's client", async () => {
    const client = openAiClient(vendors.gateway, vendors.gateway.liveKey)
    const messages = [{ role: 'user' as const, content: 'A kite' }]
    const urls: string[] = []
    for await (const { choices } of await client.chat.completions.create({
      model,
      messages,
      stream: true,
    })) {
      const delta = choices[0]?.delta as { images?: { image_url: { url: string } }[] } | undefined
      urls.push(...(delta?.images ?? []).map(({ image_url: made }) => made.url))
    }
    expect(urls).to.have.length(1)
    expect(await lookAtUrl(urls[0]!)).to.include({ width: 1024, height: 1024 })
  })

  it('sends all pictures of earlier turns as inputs, and all texts as the prompt, instructions first', async () => {
    const first = await ask({ messages: [user('A kite')] })
    const made = first.choices[0]!.message
    const own = `data:image/webp;base64,${(
      await paint({ width: 40, height: 40, format: 'webp', number: 7 })
    ).toString('base64')}`
    vendors.reset()
    const second = await ask({
      messages: [
        user([text('A kite'), image(pixel)]),
        { role: 'system', content: 'You paint.' },
        { ...made, content: 'Here it is.' },
        user([image(own), text('Now with'), text('a longer tail')]),
      ],
    })
    expect(second).to.not.have.property('warnings')
    const { contents } = calls()[0]!.body as { contents: object[] }
    const inline = (url: string) => {
      const [, mimeType, data] = /^data:(.+);base64,(.+)$/.exec(url)!
      return { inlineData: { mimeType, data } }
    }
    expect(contents).to.deep.equal([
      {
        role: 'user',
        parts: [
          { text: 'You paint.\n\nA kite\n\nHere it is.\n\nNow with\na longer tail' },
          inline(pixel),
          inline(made.images[0]!.image_url.url),
          inline(own),
        ],
      },
    ])
    const third = await ask({
      messages: [user('A kite'), second.choices[0]!.message, user('Once more')],
    })
    expect(third.choices[0]!.message.images).to.have.length(1)
  })

  it('with more pictures than the model accepts is refused before any is fetched', async () => {
    const content = [text('All'), ...Array.from({ length: 15 }, () => image('https://x.invalid/a'))]
    const expected = { status: 400, code: 'model_capability_mismatch', param: 'messages' }
    const response = await vendors.post(chat, { model, messages: [user(content)] })
    const { message } = await expectError(response, expected)
    expect(message).to.include('at most 14')
  })

  const asked = { messages: [user('A kite')] }
  const refused = [
    {
      name: 'no text',
      body: { messages: [user([image(pixel)])] },
      param: 'messages[0].content',
    },
    {
      name: 'instructions and no text',
      body: { messages: [{ role: 'system', content: 'You paint.' }, user('\n')] },
      param: 'messages[1].content',
    },
    {
      name: 'a language model as the fallback',
      body: { models: [seedream, 'gpt-4.1'] },
      param: 'models[1]',
    },
    {
      name: 'a language model before the image model',
      body: { model: 'gpt-4.1', models: [model] },
      param: 'models[0]',
    },
    {
      name: 'two different numbers of pictures',
      body: { n: 2, image_config: { n: 3 } },
      param: 'n',
    },
    { name: 'more pictures than ten', body: { n: 11 }, param: 'n' },
  ]
  for (const { name, body, param } of refused) {
    it(`with ${name} is refused`, async () => {
      const response = await vendors.post(chat, { model, ...asked, ...body })
      await expectError(response, { status: 400, code: 'invalid_value', param })
      expect(calls()).to.deep.equal([])
    })
  }

  const seen = { url: pixel, detail: 'high' }
  const calling = {
    role: 'assistant',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
  }
  const heard = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
  const ignored = [
    { param: 'temperature', body: { temperature: 0.5 } },
    { param: 'max_tokens', body: { max_tokens: 100 } },
    { param: 'tools', body: { tools: [{ type: 'function', function: { name: 'f' } }] } },
    { param: 'response_format', body: { response_format: { type: 'json_object' } } },
    { param: 'stop', body: { stop: ['x'] } },
    { param: 'seed', body: { seed: -5 } },
    { param: 'user', body: { user: 'u-1' } },
    { param: 'messages[0].content[1]', body: { messages: [user([text('A kite'), heard])] } },
    { param: 'messages[0].name', body: { messages: [{ ...user('A kite'), name: 'Ada' }] } },
    { param: 'messages[0].mood', body: { messages: [{ ...user('A kite'), mood: 'good' }] } },
    {
      param: 'messages[1].tool_calls',
      body: { messages: [user([image(pixel)]), calling, user('A kite')] },
    },
    {
      param: 'messages[1].function_call',
      body: {
        messages: [
          user([image(pixel)]),
          { role: 'assistant', function_call: { name: 'look', arguments: '{}' } },
          user('A kite'),
        ],
      },
    },
    {
      param: 'messages[0].content[1].image_url.detail',
      body: { messages: [user([text('A kite'), { ...image(pixel), image_url: seen }])] },
    },
  ]
  for (const { param, body } of ignored) {
    it(`ignores ${JSON.stringify(body).slice(0, 100)} with a warning, and refuses it in strict mode`, async () => {
      const response = await vendors.post(chat, { model, ...asked, ...body })
      const { warnings } = (await response.json()) as ChatImagesBody
      expect(warnings!.map((warning) => warning.param)).to.deep.equal([param])
      expect(warnings![0]).to.include({ applied: null })
      expect(response.headers.get('x-gateway-warnings')).to.equal('1')
      const headers = { 'x-gateway-strict': 'true' }
      const strict = await vendors.post(chat, { model, ...asked, ...body }, { headers })
      await expectError(strict, { status: 400, code: 'unsupported_parameter', param })
    })
  }

  it('falls back on other image models; one model makes all pictures', async () => {
    vendors.doubles.google.play({ status: 503, body: {} })
    const body = { ...asked, model, models: [seedream], n: 3 }
    const response = await vendors.post(chat, body)
    const { choices, usage } = (await response.json()) as ChatImagesBody
    expect(response.headers.get('x-gateway-model')).to.equal(seedream)
    expect(response.headers.get('x-gateway-attempts')).to.include('bytedance=ok')
    expect(choices[0]!.message.images).to.have.length(3)
    expect(vendors.doubles.bytedance.calls).to.have.length(3)
    // The charge includes two pictures that the first model made, although they were not delivered.
    expect(usage.cost).to.equal(0.37666)
    expect(usage.cost_details).to.deep.include({ usd_other_attempts: 0.27166 })
  })

  it("uses OpenAI's seed unless image_config has one", async () => {
    await ask({ ...asked, seed: 5 })
    await ask({ ...asked, seed: 5, image_config: { seed: 6 } })
    const seeds = calls().map(
      ({ body }) => (body as { generationConfig: { seed: number } }).generationConfig.seed,
    )
    expect(seeds).to.deep.equal([5, 6])
  })
})
