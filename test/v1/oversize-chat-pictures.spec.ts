import { expect } from 'chai'
import sharp from 'sharp'
import type OpenAI from 'openai'
import { anthropicClient } from '../support/anthropic-client.ts'
import { anthropicDouble, anthropicKey } from '../support/anthropic-upstream.ts'
import { completion } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { openAiClient } from '../support/openai-client.ts'
import { noisePng } from '../support/pictures.ts'
import { startUpstream, type ReceivedRequest, type Upstream } from '../support/upstream.ts'

const [claude, groq] = ['claude-sonnet-4-6', 'groq/qwen3.6-27b']
const claudeBytesMax = 7_864_320
const question = 'What is it?'

const urlOf = (bytes: Buffer, type = 'image/png') =>
  `data:${type};base64,${bytes.toString('base64')}`
const asked = (url: string) => [
  {
    role: 'user' as const,
    content: [
      { type: 'text' as const, text: question },
      { type: 'image_url' as const, image_url: { url } },
    ],
  },
]
const source = (bytes: Buffer, media_type: 'image/png' | 'image/jpeg' = 'image/png') => ({
  type: 'image' as const,
  source: { type: 'base64' as const, media_type, data: bytes.toString('base64') },
})

/** Groq, which takes requests of up to 4 MB with pictures in base64. */
const groqDouble = ({ bytes }: ReceivedRequest) =>
  bytes.length > 4_000_000
    ? { status: 413, body: { error: { message: 'Request Entity Too Large' } } }
    : completion('A fox.')

type Block = { type: string; source?: { data: string } }
/** The longest text of the latest request: the base64 of its picture. */
const pictureSent = ({ requests }: Upstream) => {
  const texts = String(requests.at(-1)!.bytes).split(/["]/)
  const longest = texts.reduce((most, one) => (one.length > most.length ? one : most))
  return Buffer.from(longest.slice(longest.indexOf(',') + 1), 'base64')
}

describe('a picture for a language model', () => {
  let gateway: TestGateway
  let client: OpenAI
  let vendors: Record<'anthropic' | 'groq', Upstream>
  let large: Buffer
  let middling: Buffer
  before(async () => {
    const [anthropic, groqUpstream] = await Promise.all([startUpstream(), startUpstream()])
    vendors = { anthropic, groq: groqUpstream }
    anthropic.answer(anthropicDouble(() => ({ text: ['A fox.'] })))
    groqUpstream.answer(groqDouble)
    gateway = await startGateway({
      variables: {
        ANTHROPIC_API_KEY: anthropicKey,
        ANTHROPIC_BASE_URL: anthropic.url,
        GROQ_API_KEY: 'gsk_0123456789abcdef',
        GROQ_BASE_URL: groqUpstream.url,
      },
      file: { limits: { cache_ttl_seconds: 0, route_tries_max: 1 } },
    })
    client = openAiClient(gateway, gateway.liveKey)
    large = await noisePng(1900, 1500)
    middling = await noisePng(1400, 1000)
    expect(large.length).to.be.within(8_200_000, 8_700_000)
  })
  after(async () => {
    await gateway.stop()
    await Promise.all(Object.values(vendors).map((one) => one.stop()))
  })

  const param = 'messages[0].content[1].image_url.url'
  const chat = (model: string, url: string, headers: Record<string, string> = {}) => {
    const body = { model, messages: asked(url) }
    return gateway.post('/v1/chat/completions', body, { key: gateway.liveKey, headers })
  }
  const expectCopy = async (upstream: Upstream, bytesMax: number, original: Buffer) => {
    const copy = pictureSent(upstream)
    expect(copy.length).to.be.lessThan(bytesMax)
    const [made, given] = await Promise.all([copy, original].map((one) => sharp(one).metadata()))
    expect(made!.format).to.equal('jpeg')
    expect([made!.width, made!.height]).to.deep.equal([given!.width, given!.height])
  }

  it('is sent as a smaller copy to Claude from a chat, with a warning', async () => {
    const response = await chat(claude, urlOf(large))
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    const { warnings } = JSON.parse(text) as { warnings: object[] }
    expect(warnings).to.deep.equal([
      {
        param,
        requested: `${large.length} bytes`,
        applied: `at most ${claudeBytesMax} bytes`,
        reason: `${claude} takes at most ${claudeBytesMax} bytes for this picture, so a smaller copy is sent.`,
      },
    ])
    await expectCopy(vendors.anthropic, claudeBytesMax, large)
  })

  it('is sent as a smaller copy in a stream', async () => {
    const messages = asked(urlOf(large))
    const stream = await client.chat.completions.create({ model: claude, messages, stream: true })
    let text = ''
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
    expect(text).to.equal('A fox.')
    await expectCopy(vendors.anthropic, claudeBytesMax, large)
  })

  it('is sent as a smaller copy from /v1/responses', async () => {
    const content = [
      { type: 'input_text' as const, text: question },
      { type: 'input_image' as const, image_url: urlOf(large), detail: 'auto' as const },
    ]
    const input = [{ role: 'user' as const, content }]
    const { output_text: text } = await client.responses.create({ model: claude, input })
    expect(text).to.equal('A fox.')
    await expectCopy(vendors.anthropic, claudeBytesMax, large)
  })

  it('is sent as a smaller copy from /v1/messages to the model of another vendor', async () => {
    const content = [{ type: 'text' as const, text: question }, source(middling)]
    const messages = [{ role: 'user' as const, content }]
    const anthropic = anthropicClient(gateway, gateway.liveKey)
    await anthropic.messages.create({ model: groq, max_tokens: 99, messages })
    await expectCopy(vendors.groq, 2_900_000, middling)
  })

  it('stays as it is in a request in the API of its vendor', async () => {
    const content = [{ type: 'text' as const, text: question }, source(middling)]
    const messages = [{ role: 'user' as const, content }]
    const anthropic = anthropicClient(gateway, gateway.liveKey)
    await anthropic.messages.create({ model: claude, max_tokens: 99, messages })
    expect(pictureSent(vendors.anthropic).equals(middling)).to.equal(true)
  })

  it('is refused in strict mode before the vendor is asked', async () => {
    const before = vendors.anthropic.requests.length
    const response = await chat(claude, urlOf(large), { 'x-gateway-strict': 'true' })
    await expectError(response, { status: 400, code: 'unsupported_parameter', param })
    expect(vendors.anthropic.requests).to.have.length(before)
  })

  it('is sent unchanged if the vendor takes it', async () => {
    const response = await chat(claude, urlOf(middling))
    expect(await response.text()).to.not.include('warnings')
    expect(pictureSent(vendors.anthropic).equals(middling)).to.equal(true)
  })

  it('shares what a vendor takes of a request with the other pictures', async () => {
    const half = await noisePng(900, 700)
    const parts = [1, 2].map(() => ({
      type: 'image_url' as const,
      image_url: { url: urlOf(half) },
    }))
    const messages = [{ role: 'user' as const, content: parts }]
    const { choices } = await client.chat.completions.create({ model: groq, messages })
    expect(choices[0]!.message.content).to.equal('A fox.')
  })

  describe('that is a JPEG without the end of its file', () => {
    const jpeg = paint({ width: 64, height: 48, format: 'jpeg', number: 3 })
    const [unended, half] = [
      jpeg.then((one) => one.subarray(0, -2)),
      jpeg.then((one) => one.subarray(0, -20)),
    ]
    const blocksOf = ({ requests }: Upstream) => {
      const { messages } = requests.at(-1)!.body as { messages: { content: Block[] }[] }
      return messages.flatMap(({ content }) => content)
    }

    it('gets its end in a chat and in a request in the API of its vendor', async () => {
      const whole = (await jpeg).toString('base64')
      expect((await chat(claude, urlOf(await unended, 'image/jpeg'))).status).to.equal(200)
      expect(blocksOf(vendors.anthropic)[1]!.source!.data).to.equal(whole)
      const content = [
        { type: 'text' as const, text: question },
        source(await unended, 'image/jpeg'),
      ]
      const anthropic = anthropicClient(gateway, gateway.liveKey)
      const messages = [{ role: 'user' as const, content }]
      await anthropic.messages.create({ model: claude, max_tokens: 99, messages })
      expect(blocksOf(vendors.anthropic)[1]!.source!.data).to.equal(whole)
    })

    it('is refused if its pixels are missing too, and in the result of a tool is a text', async () => {
      const broken = await chat(claude, urlOf(await half, 'image/jpeg'))
      await expectError(broken, { status: 400, code: 'invalid_value', param })
      const call = {
        id: 'call_1',
        type: 'function' as const,
        function: { name: 'look', arguments: '{}' },
      }
      const [, picture] = asked(urlOf(await half, 'image/jpeg'))[0]!.content
      const messages = [
        { role: 'user', content: question },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: [picture] },
      ]
      const tools = [
        { type: 'function', function: { name: 'look', parameters: { type: 'object' } } },
      ]
      const body = { model: claude, messages, tools }
      const response = await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
      const text = await response.text()
      expect(response.status, text).to.equal(200)
      const { warnings } = JSON.parse(text) as { warnings: { param: string }[] }
      expect(warnings[0]!.param).to.equal('messages[2].content[0]')
      expect(String(vendors.anthropic.requests.at(-1)!.bytes)).to.include('is broken')
    })
  })
})
