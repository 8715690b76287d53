import { expect } from 'chai'
import { toFile } from 'openai'
import { anthropicDouble, anthropicKey } from '../support/anthropic-upstream.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { geminiDouble, geminiKey } from '../support/gemini-upstream.ts'
import { startImageVendors, type ImagesBody, type ImageVendors } from '../support/image-vendors.ts'
import { openAiClient } from '../support/openai-client.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

/** The beginning of a photo of a phone, and bytes that stand for its pixels. */
const fileOf = (brand: string, bytes = 400) =>
  Buffer.concat([Buffer.from(`\0\0\0\x18ftyp${brand}\0\0\0\0mif1${brand}`), Buffer.alloc(bytes, 7)])
const heic = fileOf('heic')
const urlOf = (bytes: Buffer, type = 'image/heic') =>
  `data:${type};base64,${bytes.toString('base64')}`
const prompt = 'Add a hat'
const asked = (url: string) => [
  {
    role: 'user' as const,
    content: [
      { type: 'text' as const, text: prompt },
      { type: 'image_url' as const, image_url: { url } },
    ],
  },
]
type Inline = { inlineData?: { mimeType: string; data: string } }
const inlineOf = (body: unknown) =>
  (body as { contents: { parts: Inline[] }[] }).contents.flatMap(({ parts }) =>
    parts.flatMap(({ inlineData }) => inlineData ?? []),
  )
const sent = { mimeType: 'image/heic', data: heic.toString('base64') }

describe('a HEIC in a chat', () => {
  let host: PublicHost
  let gateway: TestGateway
  let google: Upstream
  let anthropic: Upstream
  before(async () => {
    host = await startPublicHost()
    ;[google, anthropic] = await Promise.all([startUpstream(), startUpstream()])
    google.answer(geminiDouble(() => ({ text: ['A fox.'] })))
    anthropic.answer(anthropicDouble(() => ({ text: ['A fox.'] })))
    gateway = await startGateway({
      publicNet: host.net,
      variables: {
        GEMINI_API_KEY: geminiKey,
        GEMINI_BASE_URL: google.url,
        ANTHROPIC_API_KEY: anthropicKey,
        ANTHROPIC_BASE_URL: anthropic.url,
      },
      file: { limits: { cache_ttl_seconds: 0, route_tries_max: 1 } },
    })
  })
  after(async () => {
    await gateway.stop()
    await Promise.all([google.stop(), anthropic.stop(), host.stop()])
  })
  const ask = (model: string, url: string) =>
    openAiClient(gateway, gateway.liveKey).chat.completions.create({ model, messages: asked(url) })
  const [gemini, claude] = ['gemini-3-flash-preview', 'claude-sonnet-4-6']

  for (const [name, url, type] of [
    ['HEIC', urlOf(heic), 'image/heic'],
    ['HEIF', urlOf(fileOf('mif1'), 'image/heif'), 'image/heif'],
    ['HEIC without its media type', urlOf(heic, 'application/octet-stream'), 'image/heic'],
  ] as const) {
    it(`reaches Gemini unchanged as a data URL: ${name}`, async () => {
      expect((await ask(gemini, url)).choices[0]!.message.content).to.equal('A fox.')
      const [inline] = inlineOf(google.requests.at(-1)!.body)
      expect(inline).to.deep.equal({ mimeType: type, data: url.split(',')[1] })
    })
  }

  it('reaches Gemini unchanged by address', async () => {
    host.serve('/photo.heic', heic)
    const { choices } = await ask(gemini, host.address('/photo.heic'))
    expect(choices[0]!.message.content).to.equal('A fox.')
    expect(inlineOf(google.requests.at(-1)!.body)).to.deep.equal([sent])
  })

  it('is refused by its name for Claude, which is not asked', async () => {
    const body = { model: claude, messages: asked(urlOf(heic)) }
    const response = await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
    const param = 'messages[0].content[1].image_url.url'
    const { message } = await expectError(response, { status: 400, code: 'invalid_value', param })
    expect(message).to.include('image/heic')
    expect(anthropic.requests).to.deep.equal([])
  })
})

describe("a HEIC as an input picture of Gemini's image models", () => {
  let host: PublicHost
  let vendors: ImageVendors
  before(async () => {
    host = await startPublicHost()
    vendors = await startImageVendors({ vendors: ['google', 'openai'], publicNet: host.net })
  })
  beforeEach(() => vendors.reset())
  after(async () => {
    await vendors.stop()
    await host.stop()
  })
  const model = 'gemini-3-pro-image'
  const received = () => inlineOf(vendors.doubles.google.calls.at(-1)!.body)
  const edit = (model: string, bytes = heic, more: object = {}) =>
    vendors.post('/v1/images/edits', {
      model,
      images: [{ image_url: urlOf(bytes) }],
      prompt,
      ...more,
    })
  const param = 'images[0].image_url'

  it('reaches the vendor unchanged from an edit in JSON', async () => {
    const { warnings } = await vendors.images({
      model,
      images: [{ image_url: urlOf(heic) }],
      prompt,
    })
    expect(warnings).to.equal(undefined)
    expect(received()).to.deep.equal([sent])
  })

  it('reaches the vendor unchanged by address', async () => {
    host.serve('/photo.heic', heic)
    await vendors.images({ model, images: [{ image_url: host.address('/photo.heic') }], prompt })
    expect(received()).to.deep.equal([sent])
  })

  it("reaches the vendor unchanged from the form of OpenAI's client", async () => {
    const client = openAiClient(vendors.gateway, vendors.gateway.liveKey)
    await client.images.edit({ model, image: await toFile(heic, 'IMG_1.HEIC'), prompt })
    expect(received()).to.deep.equal([sent])
  })

  it('reaches the vendor unchanged from a chat', async () => {
    const body = { model, messages: asked(urlOf(heic)) }
    const response = await vendors.post('/v1/chat/completions', body)
    expect(response.status, await response.text()).to.equal(200)
    expect(received()).to.deep.equal([sent])
  })

  it('makes a picture with a test key', async () => {
    const body = { model, images: [{ image_url: urlOf(heic) }], prompt }
    const response = await vendors.gateway.post('/v1/images/edits', body)
    const { data } = (await response.json()) as ImagesBody
    expect(data).to.have.length(1)
  })

  it('is refused by its name for a model that does not take it, before the vendor is asked', async () => {
    const refused = { status: 400, code: 'invalid_value', param }
    const { message } = await expectError(await edit('gpt-image-2'), refused)
    expect(message).to.include('HEIC')
    expect(vendors.doubles.openai.calls).to.deep.equal([])
  })

  it('leaves out a fallback model that does not take it', async () => {
    const response = await edit('gpt-image-2', heic, { models: [model] })
    expect(response.status, await response.text()).to.equal(200)
    expect(vendors.doubles.openai.calls).to.deep.equal([])
    expect(received()).to.deep.equal([sent])
  })

  it('is refused if it is larger than the vendor takes, since no smaller copy can be made', async () => {
    const refused = { status: 413, code: 'request_too_large', param }
    const { message } = await expectError(await edit(model, fileOf('heic', 15_000_000)), refused)
    expect(message).to.include('HEIC').and.include('at most 15000000 bytes')
    expect(vendors.doubles.google.calls).to.deep.equal([])
  })
})
