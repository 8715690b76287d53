import { expect } from 'chai'
import { expectError } from '../../support/expect-error.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { look } from '../../support/pictures.ts'
import { pixel } from '../../support/pixel.ts'

const model = 'together/black-forest-labs/FLUX.1-schnell'
const prompt = 'A red kite over dunes'
const plain = { model: 'black-forest-labs/FLUX.1-schnell', prompt, response_format: 'base64' }

describe('Together, for pictures,', () => {
  let vendors: ImageVendors
  before(async () => (vendors = await startImageVendors({ vendors: ['together'] })))
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const asked = () => vendors.doubles.together.calls.map(({ body }) => body)

  it('is asked in its format', async () => {
    await vendors.images({ model, prompt })
    expect(asked()).to.deep.equal([plain])
  })

  it('is asked for a width and a height', async () => {
    const { data, size } = await vendors.images({ model, prompt, size: '640x480' })
    expect(asked()).to.deep.equal([{ ...plain, width: 640, height: 480 }])
    expect(size).to.equal('640x480')
    expect(await look(data[0]!.b64_json)).to.deep.include({ format: 'jpeg', width: 640 })
  })

  it('is asked for its own formats; the gateway converts to others', async () => {
    const png = await vendors.images({ model, prompt, output_format: 'png' })
    const webp = await vendors.images({ model, prompt, output_format: 'webp' })
    expect(asked()).to.deep.equal([{ ...plain, output_format: 'png' }, plain])
    expect([png.output_format, webp.output_format]).to.deep.equal(['png', 'webp'])
  })

  it('is not sent fields that it rejects, with a warning for each', async () => {
    const more = { quality: 'high', style: 'natural', user: 'u-1', moderation: 'low' }
    const { warnings = [] } = await vendors.images({ model, prompt, ...more })
    expect(asked()).to.deep.equal([plain])
    expect(warnings.map(({ param }) => param)).to.have.members(Object.keys(more))
  })

  it('is sent at most one input picture', async () => {
    const images = [{ image_url: pixel }]
    await vendors.images({ model, prompt, images })
    expect(asked()).to.deep.equal([{ ...plain, image_url: pixel }])
    const two = { model, prompt, images: [...images, ...images] }
    const { message } = await expectError(await vendors.post('/v1/images/edits', two), {
      status: 400,
      code: 'model_capability_mismatch',
      param: 'images',
    })
    expect(message).to.equal(`${model} takes at most 1 input image.`)
  })

  it('makes several pictures in calls of one', async () => {
    const { data } = await vendors.images({ model, prompt, n: 3 })
    expect(data).to.have.length(3)
    expect(asked()).to.deep.equal([plain, plain, plain])
  })
})
