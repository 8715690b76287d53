import { hash } from 'node:crypto'
import { expect } from 'chai'
import type OpenAI from 'openai'
import sharp from 'sharp'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'

type Usage = { cost: number; cost_status: string }
type WithImages = { images: { type: string; image_url: { url: string } }[] }

const fox = [{ role: 'user' as const, content: 'Tell me about the red fox.' }]

describe("OpenAI's client with a test key", () => {
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    gateway = await startGateway()
    client = openAiClient(gateway)
  })
  after(() => gateway.stop())

  it('gets three different pictures of the requested size for n = 3', async () => {
    const { data = [], size } = await client.images.generate({
      model: 'zai/cogview-4',
      prompt: 'a fox',
      n: 3,
      size: '512x512',
    })
    const pictures = data.map(({ b64_json: base64 = '' }) => Buffer.from(base64, 'base64'))
    const sizes = await Promise.all(pictures.map((bytes) => sharp(bytes).metadata()))
    const pixels = await Promise.all(pictures.map((bytes) => sharp(bytes).raw().toBuffer()))
    const asked = sizes.filter(({ width, height }) => width === 512 && height === 512)
    expect(asked).to.have.length(3)
    expect(new Set(pixels.map((raw) => hash('sha256', raw))).size).to.equal(3)
    expect(size).to.equal('512x512')
  })

  it('gets an answer with the counts and the cost', async () => {
    const { choices, usage } = await client.chat.completions.create({
      model: 'gpt-5-mini',
      messages: fox,
    })
    expect(choices).to.have.length(1)
    expect(choices[0]!.message).to.include({ role: 'assistant' })
    expect(choices[0]!.message.content).to.contain('Tell me about the red fox.')
    expect(choices[0]!.finish_reason).to.equal('stop')
    const {
      prompt_tokens: input,
      completion_tokens: output,
      cost,
      cost_status,
    } = usage as Usage & OpenAI.CompletionUsage
    expect(input).to.be.greaterThan(0)
    // gpt-5-mini costs 0.25 and 2 dollars a million tokens.
    expect(Math.round(cost * 1e9)).to.equal(input * 250 + output * 2000)
    expect(cost_status).to.equal('exact')
  })

  it('gets the same text as a stream, with the usage in the last chunk', async () => {
    const request = { model: 'gpt-5-mini', messages: fox }
    const whole = await client.chat.completions.create(request)
    const stream = await client.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(text).to.equal(whole.choices[0]!.message.content)
    expect(chunks.length).to.be.greaterThan(5)
    expect(chunks.slice(0, -1).filter(({ usage }) => usage)).to.deep.equal([])
    const { choices, usage } = chunks.at(-1)!
    expect(choices).to.deep.equal([])
    expect(usage).to.deep.equal(whole.usage)
  })

  it('gets a tool call with valid arguments when it requires one', async () => {
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 3 } },
      required: ['city', 'days'],
    }
    const { choices } = await client.chat.completions.create({
      model: 'gpt-5-mini',
      messages: fox,
      tools: [{ type: 'function', function: { name: 'forecast', parameters } }],
      tool_choice: 'required',
    })
    const [call] = choices[0]!.message.tool_calls ?? []
    expect(choices[0]!.finish_reason).to.equal('tool_calls')
    expect(call?.type === 'function' && call.function.name).to.equal('forecast')
    const given = JSON.parse(call?.type === 'function' ? call.function.arguments : '') as object
    expect(given).to.deep.equal({ city: 'sandbox', days: 3 })
  })

  it('gets JSON of the requested schema', async () => {
    const { choices } = await client.chat.completions.create({
      model: 'gpt-5-mini',
      messages: fox,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'animal',
          schema: {
            type: 'object',
            properties: { legs: { type: 'integer' }, kind: { enum: ['fox', 'owl'] } },
          },
        },
      },
    })
    expect(JSON.parse(choices[0]!.message.content!)).to.deep.equal({ legs: 1, kind: 'fox' })
  })

  it('gets the pictures of an image model in the message', async () => {
    const { choices, object } = await client.chat.completions.create({
      model: 'bytedance/seedream-4-0',
      messages: fox,
      // @ts-expect-error -- an extension of the gateway
      image_config: { image_size: '1024x1024' },
    })
    const { images } = choices[0]!.message as unknown as WithImages
    expect(object).to.equal('chat.completion')
    expect(images.map(({ type }) => type)).to.deep.equal(['image_url'])
    expect(await pictureIn(images[0]!.image_url.url)).to.deep.equal(['jpeg', 1024, 1024])
  })

  it('gets the pictures of an image model in one delta', async () => {
    const stream = await client.chat.completions.create({
      model: 'bytedance/seedream-4-0',
      messages: fox,
      stream: true,
      stream_options: { include_usage: true },
      // @ts-expect-error -- an extension of the gateway
      image_config: { image_size: '1024x1024' },
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream as unknown as AsyncIterable<OpenAI.ChatCompletionChunk>) {
      chunks.push(chunk)
    }
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta as WithImages))
    const withImages = deltas.filter(({ images }) => images)
    expect(withImages).to.have.length(1)
    const [image] = withImages[0]!.images
    expect(await pictureIn(image!.image_url.url)).to.deep.equal(['jpeg', 1024, 1024])
    expect(chunks.flatMap(({ choices }) => choices.map((one) => one.finish_reason))).to.include(
      'stop',
    )
    expect(chunks.at(-1)!.usage).to.include({
      cost: 0.035,
      cost_status: 'exact',
    })
  })

  it('lists the models', async () => {
    const ids: string[] = []
    for await (const { id } of client.models.list()) ids.push(id)
    expect(ids).to.include.members(['gpt-5-mini', 'gemini-3-pro-image-preview', 'zai/cogview-4'])
  })

  it('describes a model whose id has a slash', async () => {
    const model = await client.models.retrieve('alibaba/qwen-image-plus')
    expect(model).to.include({
      id: 'alibaba/qwen-image-plus',
      object: 'model',
      owned_by: 'alibaba',
    })
  })
})

/** Format and size of the picture in a data URL; its media type must match the bytes. */
async function pictureIn(url: string): Promise<unknown[]> {
  const [, type, base64 = ''] = /^data:image\/(\w+);base64,(.+)$/.exec(url) ?? []
  const { format, width, height } = await sharp(Buffer.from(base64, 'base64')).metadata()
  expect(format).to.equal(type)
  return [format, width, height]
}
