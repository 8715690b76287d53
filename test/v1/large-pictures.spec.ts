import { once } from 'node:events'
import { request as send, type IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { expect } from 'chai'
import sharp from 'sharp'
import { completion } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { postHead, sendRaw } from '../support/raw-connection.ts'

const prompt = 'Hats for all of them'
const edits = '/v1/images/edits'
const chat = '/v1/chat/completions'

/** A random picture, so large that the gateway does not parse its base64. */
const noise = (side: number) =>
  sharp({
    create: {
      width: side,
      height: side,
      channels: 3,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 40 },
    },
  })
const [png, jpeg] = [await noise(300).png().toBuffer(), await noise(500).jpeg().toBuffer()]
const dataUrl = (bytes: Buffer, type: string) => `data:${type};base64,${bytes.toString('base64')}`
const urls = [dataUrl(png, 'image/png'), dataUrl(jpeg, 'image/jpeg')]
const images = urls.map((url) => ({ image_url: url }))
const parts = urls.map((url) => ({ type: 'image_url', image_url: { url } }))
const messages = [{ role: 'user', content: [{ type: 'text', text: prompt }, ...parts] }]

describe('large pictures', () => {
  let vendors: ImageVendors
  before(async () => {
    vendors = await startImageVendors({ limits: { route_tries_max: 2 } })
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const sent = () => Object.values(vendors.doubles).flatMap(({ calls }) => calls)

  const wires: { model: string; has: (body: never) => unknown }[] = [
    {
      model: 'gpt-image-2',
      has: ({ images: all }: { images: { image_url: string }[] }) =>
        all.map((one) => one.image_url),
    },
    {
      model: 'gemini-3-pro-image-preview',
      has: ({ contents }: { contents: { parts: { inlineData?: Inline }[] }[] }) =>
        contents[0]!.parts
          .flatMap(({ inlineData }) => inlineData ?? [])
          .map(({ mimeType, data }) => `data:${mimeType};base64,${data}`),
    },
    { model: 'bytedance/seedream-4-5', has: ({ image }: { image: string[] }) => image },
    {
      model: 'alibaba/qwen-image-2.0',
      has: ({ input }: { input: { messages: { content: { image?: string }[] }[] } }) =>
        input.messages[0]!.content.flatMap(({ image }) => image ?? []),
    },
  ]
  type Inline = { mimeType: string; data: string }
  for (const { model, has } of wires) {
    for (const [face, path, body] of [
      ['an edit', edits, { images, prompt }],
      ['a chat', chat, { messages }],
    ] as const) {
      it(`of ${face} reach the vendor unchanged, with their length: ${model}`, async () => {
        const response = await vendors.post(path, { model, ...body })
        expect(response.status, await response.text()).to.equal(200)
        const [call] = sent()
        expect(has(call!.body as never)).to.deep.equal(urls)
        expect(call!.headers['content-length']).to.equal(String(call!.bytes.length))
        expect(call!.headers).to.not.have.property('transfer-encoding')
      })
    }
  }

  it('are sent again in full after a failure of the vendor', async () => {
    vendors.doubles.openai.play({ status: 503, body: {} })
    const response = await vendors.post(edits, { model: 'gpt-image-2', images, prompt })
    expect(response.status, await response.text()).to.equal(200)
    const [first, second] = sent()
    expect(second!.bytes.equals(first!.bytes)).to.equal(true)
  })

  it('reach the vendor unchanged from every API and body format', async () => {
    const { gateway } = vendors
    const form = new FormData()
    for (const bytes of [png, jpeg]) form.append('image[]', new File([new Uint8Array(bytes)], 'a'))
    form.append('prompt', prompt)
    form.append('model', 'gpt-image-2')
    const escaped = JSON.stringify({ model: 'gpt-image-2', images, prompt }).replaceAll('/', '\\/')
    const key = gateway.liveKey
    const answers = [
      await gateway.post(edits, { model: 'gpt-image-2', images, prompt }, { key }),
      await gateway.fetch(edits, { method: 'POST', body: form, key }),
      await gateway.post(edits, undefined, { body: escaped, key }),
      await gateway.post(chat, { model: 'gpt-image-2', messages }, { key }),
    ]
    for (const answer of answers) expect(answer.status, await answer.text()).to.equal(200)
    const cached = answers.map(({ headers }) => headers.get('x-gateway-cache'))
    expect(cached).to.deep.equal(['miss', 'hit', 'hit', 'hit'])
    const turned = { model: 'gpt-image-2', images: images.toReversed(), prompt }
    const other = await gateway.post(edits, turned, { key })
    expect(other.headers.get('x-gateway-cache')).to.equal('miss')
  })

  it('arrive whole, however the network splits them', async () => {
    const body = Buffer.from(JSON.stringify({ model: 'gpt-image-2', images, prompt }))
    const first = body.indexOf('data:image/png')
    const ends = [first - 1, first, first + 3, first + 30, 65_536, body.lastIndexOf('"data:') + 1]
    const { url, liveKey } = vendors.gateway
    const headers = {
      authorization: `Bearer ${liveKey}`,
      'content-type': 'application/json',
      'cache-control': 'no-store',
    }
    const request = send(url + edits, { method: 'POST', headers })
    request.setNoDelay()
    const answering = once(request, 'response') as Promise<[IncomingMessage]>
    for (const [index, end] of [...ends, body.length].entries()) {
      await new Promise((resolve) =>
        request.write(body.subarray(ends[index - 1] ?? 0, end), resolve),
      )
      await new Promise((resolve) => setImmediate(resolve))
    }
    request.end()
    const [response] = await answering
    expect(response.statusCode, await textOf(response)).to.equal(200)
    expect((sent()[0]!.body as { images: unknown }).images).to.deep.equal(images)
  })

  it('arrive whole in chunks of one byte', async () => {
    const { url, liveKey } = vendors.gateway
    const body = JSON.stringify({ model: 'gpt-image-2', images, prompt })
    const chunks = Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('')
    const head = postHead(edits, liveKey, {
      'transfer-encoding': 'chunked',
      'cache-control': 'no-store',
    })
    expect(await sendRaw(url, `${head}${chunks}0\r\n\r\n`)).to.match(/^HTTP\/1\.1 200 /)
    expect((sent()[0]!.body as { images: unknown }).images).to.deep.equal(images)
  })

  it('cannot be referenced by an internal placeholder', async () => {
    const ticket = 'data:image/png;base64,123e4567-e89b-42d3-a456-426614174000'
    const forged = [images[0], { image_url: ticket }]
    const response = await vendors.post(edits, { model: 'gpt-image-2', images: forged, prompt })
    await expectError(response, {
      status: 400,
      code: 'invalid_value',
      param: 'images[1].image_url',
    })
    const asked = { model: 'gpt-image-2', images, prompt: ticket }
    const answer = await vendors.post(edits, asked)
    expect(answer.status, await answer.text()).to.equal(200)
    expect(sent()[0]!.body).to.include({ prompt: ticket })
  })

  it('are refused by the sandbox, as by a vendor, when their data is damaged', async () => {
    const damaged = Buffer.from(png)
    damaged.fill(0xff, 10_000, 11_000)
    const broken = [{ image_url: dataUrl(damaged, 'image/png') }]
    const response = await vendors.gateway.post(edits, { images: broken, prompt })
    const { message } = await expectError(response, { status: 400, code: 'invalid_value' })
    expect(message).to.match(/cannot read one of the pictures/)
  })

  it('are not repeated in a warning', async () => {
    const metadata = { url: urls[0]! }
    const body = { model: 'gpt-image-2', messages, metadata }
    const response = await vendors.post(chat, body)
    const { warnings } = (await response.json()) as { warnings: { requested: unknown }[] }
    expect(warnings.map(({ requested }) => requested)).to.deep.equal(['too large to be repeated'])
  })
})

describe('large pictures of a conversation with a language model', () => {
  let own: OwnEndpoint
  before(async () => (own = await startOwnEndpoint()))
  after(() => own.stop())

  it('are passed on unchanged, wherever they are', async () => {
    own.upstream.answer(completion('Hats.'))
    const asked = { messages: [...hello, ...messages], extra: { url: urls[0] } }
    const response = await own.chat(asked)
    expect(response.status, await response.text()).to.equal(200)
    expect(own.upstream.requests.at(-1)!.body).to.deep.include(asked)
  })
})
