import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type OpenAI from 'openai'
import sharp from 'sharp'
import { chunk, completion, refusal, roleChunk, streamed } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { openAiClient } from '../support/openai-client.ts'
import { hello, ownKey, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'

type Chunk = OpenAI.ChatCompletionChunk

describe("OpenAI's client with a live key and the operator's own server", () => {
  let own: OwnEndpoint
  let client: OpenAI
  before(async () => {
    own = await startOwnEndpoint({ file: { routes: { 'gpt-5-mini': ['own/house-1'] } } })
    client = openAiClient(own.gateway, own.gateway.liveKey)
  })
  after(() => own.stop())
  const sent = () => own.upstream.requests[0]!

  it("reaches the server with the server's own model name and key", async () => {
    own.upstream.answer(completion('Hi.'))
    const request = { messages: hello, temperature: 0.2, top_p: 0.9, seed: 7, stop: ['END'] }
    await client.chat.completions.create({ model: 'own/house-1', ...request })
    expect(own.upstream.requests).to.have.length(1)
    expect(sent()).to.include({ method: 'POST', path: '/v1/chat/completions' })
    expect(sent().body).to.deep.equal({ model: 'house-1', ...request })
    expect(sent().headers['authorization']).to.equal(`Bearer ${ownKey}`)
    expect(sent().headers['content-type']).to.equal('application/json')
  })

  it('can use model names with slashes', async () => {
    own.upstream.answer(completion('Hi.'))
    await client.chat.completions.create({ model: 'own/meta/llama-4:free', messages: hello })
    expect(sent().body).to.include({ model: 'meta/llama-4:free' })
  })

  it('reaches the server with unknown fields unchanged', async () => {
    own.upstream.answer(completion('Hi.'))
    const extra = { top_k: 40, chat_template_kwargs: { thinking: false }, metadata: { a: 'b' } }
    await client.chat.completions.create({ model: 'own/house-1', messages: hello, ...extra })
    expect(sent().body).to.deep.equal({ model: 'house-1', messages: hello, ...extra })
  })

  it('does not send fields of the gateway to the server', async () => {
    own.upstream.answer(completion('Hi.'))
    const extra = { models: ['own/house-2'] }
    await client.chat.completions.create({ model: 'own/house-1', messages: hello, ...extra })
    expect(sent().body).to.deep.equal({ model: 'house-1', messages: hello })
    const names = Object.keys(sent().headers)
    expect(names.filter((name) => name.startsWith('x-'))).to.deep.equal([])
  })

  it('does not send image options to a language model, and gets a warning', async () => {
    own.upstream.answer(completion('Hi.'))
    const answer = await client.chat.completions.create({
      model: 'gpt-5-mini',
      messages: hello,
      // @ts-expect-error -- an extension of the gateway
      image_config: { image_size: '1K' },
    })
    const { warnings } = answer as unknown as { warnings: { param: string }[] }
    expect(sent().body).to.deep.equal({ model: 'house-1', messages: hello })
    expect(warnings.map(({ param }) => param)).to.deep.equal(['image_config'])
  })

  describe('with a model whose pictures are not converted', () => {
    const fox = { create: { width: 64, height: 48, channels: 3, background: '#c63' } } as const
    const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const
    const painted = sharp({ create: { ...fox.create, noise } })
    const paint = async (format: 'png' | 'jpeg' | 'webp', missing: number) => {
      const bytes = await painted.clone().toFormat(format).toBuffer()
      const b64_json = bytes.subarray(0, bytes.length - missing).toString('base64')
      own.upstream.answer({ body: { created: 1, data: [{ b64_json }] } })
      const prompt = `A fox ${format} ${missing}`
      return own.gateway.post(
        '/v1/images/generations',
        { model: 'own/painter', prompt },
        { key: own.gateway.liveKey },
      )
    }

    for (const [format, missing] of [
      ['png', 40],
      ['jpeg', 40],
      ['webp', 10],
    ] as const) {
      it(`fails for a broken ${format}, and counts it`, async () => {
        const response = await paint(format, missing)
        await expectError(response, { status: 502, code: 'provider_error', type: 'upstream_error' })
        const row = (await own.gateway.usage()).at(-1)!
        expect(row).to.include({ outcome: 'failed', images: 1 })
      })
    }

    it('completes a file without its last bytes', async () => {
      for (const [format, missing] of [
        ['png', 12],
        ['jpeg', 2],
      ] as const) {
        const response = await paint(format, missing)
        const { data } = (await response.json()) as { data: { b64_json: string }[] }
        const whole = Buffer.from(data[0]!.b64_json, 'base64')
        const { channels } = await sharp(whole, { failOn: 'truncated' }).stats()
        expect(channels).to.have.length(3)
      }
    })
  })

  describe('with a model that makes pictures in chats', () => {
    const url = `data:image/png;base64,${randomBytes(1_500_000).toString('base64')}`
    const images = [{ type: 'image_url', image_url: { url }, index: 0 }]
    const options = {
      modalities: ['image', 'text'],
      // Keys of other gateways, which no schema of this gateway has.
      image_config: { aspect_ratio: '21:9', image_size: '4K', font_inputs: [{ text: 'Fox' }] },
    }
    const asked = { model: 'own/google/gemini-3-pro-image', messages: hello, ...options }
    const served = { model: 'google/gemini-3-pro-image', messages: hello, ...options }

    it('sends image_config and modalities unchanged, and returns the pictures', async () => {
      const answer = completion('A fox.').body as { choices: { message: object }[] }
      Object.assign(answer.choices[0]!.message, { images })
      own.upstream.answer({ body: answer })
      // @ts-expect-error -- an extension of the gateway
      const { choices } = await client.chat.completions.create(asked)
      expect(sent().path).to.equal('/v1/chat/completions')
      expect(sent().body).to.deep.equal(served)
      expect(choices[0]!.message).to.deep.include({ content: 'A fox.', images })
    })

    it('returns the pictures of a stream', async () => {
      const pieces = [
        roleChunk,
        chunk({ choices: [{ index: 0, delta: { content: '', images }, finish_reason: null }] }),
        chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
        'data: [DONE]\n\n',
      ]
      own.upstream.answer({ pieces })
      // @ts-expect-error -- an extension of the gateway
      const stream = await client.chat.completions.create({ ...asked, stream: true })
      const deltas: unknown[] = []
      for await (const { choices } of stream as unknown as AsyncIterable<Chunk>) {
        deltas.push(...choices.map(({ delta }) => delta))
      }
      expect(sent().body).to.deep.include({ ...served, stream: true })
      expect(deltas).to.deep.include({ content: '', images })
    })

    it('is quoted and fails over like another chat', async () => {
      own.upstream.answer(refusal(400))
      const body = { ...asked, models: ['own/house-1'] }
      const quote = { operation: 'createChatCompletion', request: body }
      const key = own.gateway.liveKey
      const quoted = await own.gateway.post('/v1/prices', quote, { key })
      expect(quoted.status, await quoted.text()).to.equal(200)
      own.upstream.answer(({ body: served }) =>
        (served as { model: string }).model === 'house-1' ? completion('Hi.') : refusal(503),
      )
      const response = await own.gateway.post('/v1/chat/completions', body, { key })
      expect(response.headers.get('x-gateway-model')).to.equal('own/house-1')
    })
  })

  it('makes the gateway request token counts of a stream, also without stream_options', async () => {
    own.upstream.answer(streamed(['Hi.']))
    const stream = await client.chat.completions.create({
      model: 'own/house-1',
      messages: hello,
      stream: true,
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(sent().body).to.deep.include({ stream: true, stream_options: { include_usage: true } })
    expect(chunks.some(({ usage }) => usage)).to.equal(false)
    expect((await own.gateway.usage()).at(-1)).to.include({ input_tokens: 9, output_tokens: 4 })
  })

  it('gets the answer with the counts and the cost', async () => {
    const details = { prompt_tokens_details: { cached_tokens: 3 } }
    const counts = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13, ...details }
    own.upstream.answer(completion('Bonjour.', { finish: 'length', usage: counts }))
    const answer = await client.chat.completions.create({ model: 'own/house-1', messages: hello })
    const message = { role: 'assistant', content: 'Bonjour.', refusal: null }
    expect(answer).to.deep.include({ id: 'chatcmpl-up', model: 'house-1', created: 1_767_225_600 })
    expect(answer.choices).to.deep.equal([
      { index: 0, message, logprobs: null, finish_reason: 'length' },
    ])
    expect(answer.usage).to.deep.include({ ...counts, cost: null, cost_status: 'unknown' })
  })

  it('gets tool calls unchanged', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
    const message = { role: 'assistant', content: null, refusal: null, tool_calls: [call] }
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'tool_calls' }]
    own.upstream.answer({
      body: { id: 'x', object: 'chat.completion', created: 1, model: 'm', choices },
    })
    const answer = await client.chat.completions.create({ model: 'own/house-1', messages: hello })
    expect(answer.choices).to.deep.equal(choices)
  })

  it('gets pictures over the same protocol', async () => {
    const pixels = { width: 64, height: 48, channels: 3, background: '#c33' } as const
    const bytes = await sharp({ create: pixels }).png().toBuffer()
    own.upstream.answer({ body: { created: 1, data: [{ b64_json: bytes.toString('base64') }] } })
    const { data } = await client.images.generate({
      model: 'own/painter',
      prompt: 'a fox',
      size: '64x48',
    })
    expect(sent()).to.include({ path: '/v1/images/generations' })
    expect(sent().body).to.deep.equal({
      model: 'painter',
      prompt: 'a fox',
      size: '64x48',
      response_format: 'b64_json',
    })
    expect(data).to.deep.equal([{ b64_json: bytes.toString('base64') }])
  })

  it('uses the keys of the server in turn', async () => {
    await using two = await startOwnEndpoint({ variables: { OWN_API_KEY: 'key-a, key-b' } })
    two.upstream.answer(completion('Hi.'))
    for (const content of ['one', 'two', 'three']) {
      await two.chat({ messages: [{ role: 'user', content }] })
    }
    const keys = two.upstream.requests.map(({ headers }) => headers['authorization'])
    expect(keys).to.deep.equal(['Bearer key-a', 'Bearer key-b', 'Bearer key-a'])
  })

  it('gets the name of the setting that enables the model of a vendor', async () => {
    own.upstream.answer(refusal(500))
    const response = await own.chat({ model: 'claude-opus-5' })
    const { message } = await expectError(response, { status: 503, code: 'no_provider_configured' })
    expect(message).to.contain('ANTHROPIC_API_KEY')
    expect(own.upstream.requests).to.deep.equal([])
  })
})
