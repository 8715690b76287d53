import { expect } from 'chai'
import sharp from 'sharp'
import { readCatalogRows } from '../../src/catalog/catalog.ts'
import type { components } from '../../generated/types.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { exampleSizes, previewModel, prices, toolModel } from './document.ts'

type Schemas = components['schemas']

describe('the models against the product document', () => {
  let gateway: TestGateway
  let models: Schemas['Model'][]
  before(async () => {
    gateway = await startGateway()
    const list = await gateway.fetch('/v1/models')
    models = ((await list.json()) as Schemas['ModelList']).data
  })
  after(() => gateway.stop())

  for (const [id, usd, note] of prices) {
    it(`lists ${id} at $${usd} an image`, () => {
      const model = models.find((one) => one.id === id)
      expect(model?.pricing.per_image).to.deep.equal([{ usd }])
      expect(readCatalogRows().find((row) => row.id === id)?.description).to.include(note)
    })

    it(`charges $${usd} for an image of ${id}`, async () => {
      const { headers, images } = await create({ model: id })
      expect(headers.get('x-gateway-cost-usd')).to.equal(usd)
      expect(images.usage.cost).to.equal(Number(usd))
    })

    it(`finds ${id} without its prefix`, async () => {
      const { headers } = await create({ model: id.split('/')[1]! })
      expect(headers.get('x-gateway-model')).to.equal(id)
    })

    for (const size of exampleSizes[id.split('/')[0]!]!) {
      it(`makes an image of ${size} with ${id}`, async () => {
        const { images } = await create({ model: id, size })
        expect(await pixels(images.data[0]!.b64_json)).to.equal(size)
      })
    }
  }

  it('charges each image of a request', async () => {
    const { headers, images } = await create({ model: toolModel.id, n: 3 })
    expect(headers.get('x-gateway-cost-usd')).to.equal('0.09')
    expect(images.data).to.have.length(3)
  })

  for (const model of [undefined, 'auto']) {
    it(`answers with the preview image model when the model is ${model ?? 'left out'}`, async () => {
      const { headers } = await create(model === undefined ? {} : { model })
      expect(headers.get('x-gateway-model')).to.equal(previewModel.id)
    })
  }

  it('keeps the id of the preview image model that its vendor retired', () => {
    const row = readCatalogRows().find(({ id }) => id === previewModel.id)
    expect(row?.upstream_model).to.equal(previewModel.upstream)
  })

  it('finds the default model of the tool generate-image by its short name', async () => {
    const { headers } = await create({ model: toolModel.alias })
    expect(headers.get('x-gateway-model')).to.equal(toolModel.id)
  })

  const classes = { '1K': '1024x1024', '2K': '2048x2048', '4K': '4096x4096' }
  for (const [image_size, size] of Object.entries(classes)) {
    it(`makes ${size} of the image_size ${image_size}`, async () => {
      expect(await pixels(await paint(previewModel.id, { image_size }))).to.equal(size)
    })
  }

  for (const aspect_ratio of ['1:1', '16:9', '4:3', '5:4']) {
    it(`makes the aspect ratio ${aspect_ratio}`, async () => {
      const size = await pixels(await paint(previewModel.id, { aspect_ratio }))
      const [width, height] = size.split('x').map(Number)
      const [across, down] = aspect_ratio.split(':').map(Number)
      expect(width! / height!).to.be.closeTo(across! / down!, 0.05)
    })
  }

  for (const id of ['bytedance/seedream-4-0', 'bytedance/seedream-4-5']) {
    it(`makes 2048x2048 with ${id} when no size is asked for`, async () => {
      const { images } = await create({ model: id })
      expect(await pixels(images.data[0]!.b64_json)).to.equal('2048x2048')
    })

    it(`makes nothing above 4096x4096 with ${id}`, async () => {
      expect((await create({ model: id, size: '4097x4097' })).status).to.equal(400)
    })

    it(`accepts ten reference images with ${id}`, () => {
      const { image } = models.find((model) => model.id === id)!
      expect(image!.reference_images_max).to.be.at.least(10)
    })
  }

  async function create(body: object) {
    const request = { prompt: 'A lighthouse in a storm', ...body }
    const response = await gateway.post('/v1/images/generations', request)
    const { status, headers } = response
    return { status, headers, images: (await response.json()) as Schemas['ImagesResponse'] }
  }

  /** Requests an image by chat; returns the image in base64. */
  async function paint(model: string, image_config: object): Promise<string> {
    const messages = [{ role: 'user', content: 'A lighthouse in a storm' }]
    const response = await gateway.post('/v1/chat/completions', { model, messages, image_config })
    expect(response.status).to.equal(200)
    const { choices } = (await response.json()) as Schemas['ChatCompletion']
    return choices[0]!.message.images![0]!.image_url.url.split(',')[1]!
  }
})

async function pixels(base64: string): Promise<string> {
  const { width, height } = await sharp(Buffer.from(base64, 'base64')).metadata()
  return `${width}x${height}`
}
