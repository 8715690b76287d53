import { expect } from 'chai'
import sharp from 'sharp'
import { toFile } from 'openai'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { openAiClient } from '../support/openai-client.ts'
import { noisePng, type ChatImagesBody } from '../support/pictures.ts'

const prompt = 'At night'
const megabyte = 1_000_000

const dataUrl = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`
const shown = (url: string) => ({ type: 'image_url', image_url: { url } })

describe('an input picture as large as one in 4K', () => {
  let vendors: ImageVendors
  let large: Buffer
  before(async () => {
    vendors = await startImageVendors()
    // As large as a picture of gpt-image-2 in 4K.
    large = await noisePng(3840, 2000)
    expect(large.length).to.be.within(22.9 * megabyte, 24 * megabyte)
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const model = 'gpt-image-2'
  const sent = () => {
    const [call] = vendors.doubles.openai.calls
    const { images } = call!.body as { images: { image_url: string }[] }
    return Buffer.from(images[0]!.image_url.split(',')[1]!, 'base64')
  }

  it('reaches OpenAI unchanged from an edit in JSON', async () => {
    const { warnings } = await vendors.images({
      model,
      images: [{ image_url: dataUrl(large) }],
      prompt,
    })
    expect(warnings).to.equal(undefined)
    expect(sent().equals(large)).to.equal(true)
  })

  it("reaches OpenAI unchanged from the form of OpenAI's client", async () => {
    const client = openAiClient(vendors.gateway, vendors.gateway.liveKey)
    await client.images.edit({ model, image: await toFile(large, 'a.png'), prompt })
    expect(sent().equals(large)).to.equal(true)
  })

  it('reaches OpenAI unchanged from a conversation in which it was made', async () => {
    const made = { role: 'assistant', content: null, images: [shown(dataUrl(large))] }
    const messages = [{ role: 'user', content: 'A boat' }, made, { role: 'user', content: prompt }]
    const response = await vendors.post('/v1/chat/completions', { model, messages })
    expect(response.status, await response.text()).to.equal(200)
    expect(sent().equals(large)).to.equal(true)
  })

  const bounds = [
    { vendor: 'alibaba', model: 'alibaba/qwen-image-3.0', most: 10 * megabyte },
    { vendor: 'bytedance', model: 'bytedance/seedream-4-5', most: 10 * megabyte },
    { vendor: 'google', model: 'gemini-3-pro-image-preview', most: 15 * megabyte },
  ] as const
  for (const { vendor, model, most } of bounds) {
    it(`is sent as a smaller copy, with a warning: ${model}`, async () => {
      const images = [{ image_url: dataUrl(large) }]
      const { warnings } = await vendors.images({ model, images, prompt, n: 2 })
      const warning = warnings!.find(({ param }) => param === 'images[0].image_url')
      expect(warning).to.deep.equal({
        param: 'images[0].image_url',
        requested: `${large.length} bytes`,
        applied: `at most ${most} bytes`,
        reason: `${model} takes at most ${most} bytes for this picture, so a smaller copy is sent.`,
      })
      for (const { bytes } of vendors.doubles[vendor].calls) {
        const texts = String(bytes).split('"')
        const longest = texts.reduce((most, one) => (one.length > most.length ? one : most))
        const base64 = longest.slice(longest.indexOf(',') + 1)
        const copy = Buffer.from(base64, 'base64')
        expect(copy.length).to.be.lessThan(most)
        const { format, width, height } = await sharp(copy).metadata()
        expect({ format, width, height }).to.deep.equal({
          format: 'jpeg',
          width: 3840,
          height: 2000,
        })
      }
    })
  }

  it('stays transparent in its smaller copy', async () => {
    const images = [{ image_url: dataUrl(await noisePng(2000, 1500, 4)) }]
    await vendors.images({ model: bounds[1].model, images, prompt })
    const { image } = vendors.doubles.bytedance.calls[0]!.body as { image: string }
    const { format, hasAlpha } = await sharp(Buffer.from(image.split(',')[1]!, 'base64')).metadata()
    expect({ format, hasAlpha }).to.deep.equal({ format: 'webp', hasAlpha: true })
  })

  it('makes the pictures of a long conversation smaller where their sum is limited', async () => {
    const url = dataUrl(await noisePng(1000, 1000))
    const made = { role: 'assistant', content: null, images: [shown(url)] }
    const messages = [...Array.from({ length: 6 }, () => made), { role: 'user', content: prompt }]
    const { model } = bounds[2]
    const response = await vendors.post('/v1/chat/completions', { model, messages })
    const { warnings } = (await response.json()) as ChatImagesBody
    expect(warnings!.map(({ applied }) => applied)).to.deep.equal(
      Array.from({ length: 6 }, () => 'at most 2500000 bytes'),
    )
    const [call] = vendors.doubles.google.calls
    expect(call!.bytes.length).to.be.lessThan(20 * 2 ** 20)
  })
})
