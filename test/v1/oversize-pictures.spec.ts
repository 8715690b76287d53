import { expect } from 'chai'
import sharp from 'sharp'
import { expectError } from '../support/expect-error.ts'
import { startImageVendors, type ImagesBody, type ImageVendors } from '../support/image-vendors.ts'
import { noisePng } from '../support/pictures.ts'

const prompt = 'At night'
const model = 'alibaba/qwen-image-3.0'
const bytesMax = 10_000_000
const param = 'images[0].image_url'

describe('an input picture that is larger than its vendor takes', () => {
  let vendors: ImageVendors
  let large: Buffer
  let image_url: string
  before(async () => {
    vendors = await startImageVendors({ vendors: ['alibaba'] })
    large = await noisePng(2000, 1700)
    expect(large.length).to.be.within(bytesMax, bytesMax + 300_000)
    image_url = `data:image/png;base64,${large.toString('base64')}`
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  it('is sent as a smaller copy, with a warning', async () => {
    const { warnings } = await vendors.images({ model, images: [{ image_url }], prompt })
    expect(warnings!.find((one) => one.param === param)).to.deep.equal({
      param,
      requested: `${large.length} bytes`,
      applied: `at most ${bytesMax} bytes`,
      reason: `${model} takes at most ${bytesMax} bytes for this picture, so a smaller copy is sent.`,
    })
    const [, base64 = ''] = /;base64,([^"]+)/.exec(String(vendors.doubles.alibaba.calls[0]!.bytes))!
    const copy = Buffer.from(base64, 'base64')
    expect(copy.length).to.be.lessThan(bytesMax)
    const { format, width, height } = await sharp(copy).metadata()
    expect({ format, width, height }).to.deep.equal({ format: 'jpeg', width: 2000, height: 1700 })
  })

  it('is refused in strict mode before a vendor is asked', async () => {
    const body = { model, images: [{ image_url }], prompt }
    const headers = { 'x-gateway-strict': 'true' }
    const response = await vendors.post('/v1/images/edits', body, { headers })
    await expectError(response, { status: 400, code: 'unsupported_parameter', param })
    expect(vendors.doubles.alibaba.calls).to.deep.equal([])
  })

  it('has the same warning with a test key', async () => {
    const body = { model, images: [{ image_url }], prompt }
    const response = await vendors.gateway.post('/v1/images/edits', body)
    const { warnings } = (await response.json()) as ImagesBody
    expect(warnings!.map(({ applied }) => applied)).to.include('at most 10000000 bytes')
  })
})
