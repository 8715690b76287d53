import { expect } from 'chai'
import { expectError } from '../../support/expect-error.ts'
import { fixture } from '../../support/image-doubles/double.ts'
import { recraftKey } from '../../support/image-doubles/recraft.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { look, noisePng } from '../../support/pictures.ts'
import { imageSuite, prompt } from '../image-suite.ts'

const model = 'recraft/recraftv4_1'
const plain = { model: 'recraftv4_1', prompt, response_format: 'b64_json' }
const chat = '/v1/chat/completions'

describe('Recraft, for pictures,', () => {
  imageSuite({
    vendor: 'recraft',
    model,
    path: '/images/generations',
    plain,
    keyHeader: { name: 'authorization', value: `Bearer ${recraftKey}` },
    seeds: true,
    picturesPerCall: 6,
    refusal: 'unsupported',
    answerWith: (base64) => ({ body: { created: 1, credits: 35, data: [{ b64_json: base64 }] } }),
    options: [
      { name: 'for six pictures in one call', body: { n: 6 }, wire: { n: 6 } },
      {
        name: 'in a size that the model makes',
        body: { size: '1344x768' },
        wire: { size: '1344x768' },
      },
      {
        name: 'in the size of the nearest ratio, with a warning',
        body: { size: '1600x900' },
        wire: { size: '1344x768' },
        warnings: ['size'],
      },
      {
        name: 'in the sizes of an older model',
        model: 'recraft/recraftv3',
        body: { size: '1820x1024' },
        wire: { model: 'recraftv3', size: '1820x1024' },
      },
      {
        name: 'in the sizes of a Pro model',
        model: 'recraft/recraftv4_1_pro',
        body: { size: '2688x1536' },
        wire: { model: 'recraftv4_1_pro', size: '2688x1536' },
      },
      {
        name: 'never in a size that is too large',
        body: { size: '4096x4096' },
        refused: { code: 'invalid_value', param: 'size' },
      },
      { name: 'as PNG', body: { output_format: 'png' }, wire: { image_format: 'png' } },
      { name: 'as JPEG, which is made here', body: { output_format: 'jpeg' } },
      {
        name: 'never as SVG from a model of pixels',
        body: { output_format: 'svg' },
        refused: { code: 'model_capability_mismatch', param: 'output_format' },
      },
      {
        name: 'never as PNG from a model of vectors',
        model: 'recraft/recraftv4_1_vector',
        body: { output_format: 'png' },
        refused: { code: 'model_capability_mismatch', param: 'output_format' },
      },
      { name: 'without quality, with a warning', body: { quality: 'high' }, warnings: ['quality'] },
      {
        name: 'never for a transparent background',
        body: { background: 'transparent' },
        refused: { code: 'model_capability_mismatch', param: 'background' },
      },
      {
        name: 'never with a prompt that is longer than the model takes',
        body: { prompt: 'a'.repeat(10_001) },
        refused: { code: 'invalid_value', param: 'prompt' },
      },
      {
        name: 'never with a prompt that is longer than an older model takes',
        model: 'recraft/recraftv2',
        body: { prompt: 'a'.repeat(1001) },
        refused: { code: 'invalid_value', param: 'prompt' },
      },
    ],
    failures: [
      { name: 'moderated', kind: 'content_policy' },
      { name: 'no-credits', kind: 'out_of_credit' },
      { name: 'payment', kind: 'out_of_credit' },
      { name: 'rate-limited', kind: 'rate_limited' },
      { name: 'unauthorized', kind: 'credentials' },
      { name: 'internal', kind: 'overloaded' },
      { name: 'unsupported', kind: 'rejected' },
    ],
  })

  describe('with its own options', () => {
    let vendors: ImageVendors
    before(async () => (vendors = await startImageVendors({ vendors: ['recraft'] })))
    beforeEach(() => vendors.reset())
    after(() => vendors.stop())

    const messages = [{ role: 'user', content: prompt }]
    const ask = (image_config: object, more: object = {}) =>
      vendors.post(chat, { model, messages, image_config, ...more })
    const sent = () => vendors.doubles.recraft.calls.map(({ body }) => body as object)
    const warnedOf = async (response: Response) => {
      const text = await response.text()
      expect(response.status, text).to.equal(200)
      const { warnings = [] } = JSON.parse(text) as { warnings?: { param: string }[] }
      return warnings.map(({ param }) => param)
    }

    it('sends colors, ratio and seed', async () => {
      const controls = { colors: [{ rgb: [1, 2, 3] }], background_color: { rgb: [255, 255, 255] } }
      const image_config = { aspect_ratio: '14:10', controls, seed: 7 }
      expect(await warnedOf(await ask(image_config))).to.deep.equal([])
      const [body] = sent()
      expect(body).to.deep.equal({ ...plain, size: '1280x896', random_seed: 7, controls })
    })

    it('sends all options that the third generation has', async () => {
      const image_config = {
        style: 'Illustration',
        substyle: 'hand_drawn',
        negative_prompt: 'people',
        text_layout: [
          {
            text: 'KITE',
            bbox: [
              [0, 0],
              [1, 0],
              [1, 1],
              [0, 1],
            ],
          },
        ],
        controls: { artistic_level: 2, no_text: false },
      }
      const response = await ask(image_config, { model: 'recraft/recraftv3' })
      expect(await warnedOf(response)).to.deep.equal([])
      expect(sent()[0]).to.deep.equal({ ...plain, model: 'recraftv3', ...image_config })
    })

    it('warns of each option that the model lacks, and sends the others', async () => {
      const controls = { colors: [{ rgb: [1, 2, 3] }], artistic_level: 2 }
      const image_config = { style: 'Illustration', strength: 0.2, controls }
      expect(await warnedOf(await ask(image_config))).to.deep.equal([
        'image_config.style',
        'image_config.strength',
        'image_config.controls.artistic_level',
      ])
      expect(sent()[0]).to.deep.equal({ ...plain, controls: { colors: controls.colors } })
    })

    it('refuses an option in strict mode, and an unknown one always', async () => {
      const headers = { 'x-gateway-strict': 'true' }
      const body = { model, messages, image_config: { style: 'Illustration' } }
      const strict = await vendors.post(chat, body, { headers })
      const code = 'unsupported_parameter'
      await expectError(strict, { status: 400, code, param: 'image_config.style' })
      const unknown = await ask({ styles: 'x' })
      const param = 'image_config.styles'
      await expectError(unknown, { status: 400, code: 'unknown_parameter', param })
      const color = await ask({ controls: { colors: [{ rgb: [1, 2] }] } })
      await expectError(color, { status: 400, code: 'invalid_value' })
      expect(sent()).to.deep.equal([])
    })
  })

  describe('edits', () => {
    let vendors: ImageVendors
    let image: string
    before(async () => {
      vendors = await startImageVendors({ vendors: ['recraft'] })
      image = `data:image/png;base64,${(await noisePng(256, 256)).toString('base64')}`
    })
    beforeEach(() => vendors.reset())
    after(() => vendors.stop())

    const calls = () => vendors.doubles.recraft.calls

    it('a picture by its own path, half way from the input', async () => {
      const { data } = await vendors.images({ model, prompt, images: [{ image_url: image }], n: 2 })
      expect(data).to.have.length(2)
      expect(calls()[0]!.path).to.equal('/images/imageToImage')
      expect(calls()[0]!.body).to.deep.equal({ ...plain, n: 2, image_url: image, strength: 0.5 })
    })

    it('as far from the input as requested', async () => {
      const content = [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: image } },
      ]
      const image_config = { strength: 0.9, output_format: 'png' }
      const messages = [{ role: 'user', content }]
      const response = await vendors.post(chat, { model, messages, image_config })
      expect(response.status, await response.text()).to.equal(200)
      expect(calls()[0]!.body).to.include({ strength: 0.9, image_format: 'png' })
    })

    it('fits an edit to the requested size, with a warning', async () => {
      const body = { model, prompt, images: [{ image_url: image }], size: '1024x1536' }
      const { data, warnings } = await vendors.images(body)
      expect(await look(data[0]!.b64_json)).to.include({ width: 1024, height: 1536 })
      expect(warnings!.map(({ param }) => param)).to.deep.equal(['size'])
      expect(calls()[0]!.body).to.not.have.property('size')
    })

    it('never of two pictures, of a small one, or by a model without edits', async () => {
      const images = [{ image_url: image }, { image_url: image }]
      const edits = '/v1/images/edits'
      const two = await vendors.post(edits, { model, prompt, images })
      const mismatch = { status: 400, code: 'model_capability_mismatch', param: 'images' }
      await expectError(two, mismatch)
      const flash = { model: 'recraft/recraftv4_1_flash', prompt, images: images.slice(1) }
      await expectError(await vendors.post(edits, flash), mismatch)
      const small = `data:image/png;base64,${(await noisePng(64, 300)).toString('base64')}`
      const tiny = await vendors.post(edits, { model, prompt, images: [{ image_url: small }] })
      await expectError(tiny, { status: 400, code: 'invalid_value' })
      expect(calls()).to.deep.equal([])
    })
  })

  describe('charges', () => {
    let vendors: ImageVendors
    before(async () => (vendors = await startImageVendors({ vendors: ['recraft'] })))
    beforeEach(() => vendors.reset())
    after(() => vendors.stop())

    const cost = async (body: object) => (await vendors.images({ prompt, ...body })).usage

    for (const [name, usd] of [
      ['recraftv4_1', 0.035],
      ['recraftv4_1_pro', 0.21],
      ['recraftv4_1_flash', 0.007],
      ['recraftv4_1_vector', 0.08],
      ['recraftv2_vector', 0.044],
    ] as const) {
      it(`what the vendor reports for ${name}, to the nano-dollar`, async () => {
        const usage = await cost({ model: `recraft/${name}`, n: 7 })
        expect(usage).to.include({ cost: Number((7 * usd).toFixed(3)), cost_status: 'reported' })
        expect(vendors.doubles.recraft.calls).to.have.length(2)
      })
    }

    it('another amount than the list price, if the vendor reports it', async () => {
      const { body } = fixture('xai/moderated') as { body: { data: { b64_json: string }[] } }
      const [{ b64_json }] = body.data as [{ b64_json: string }]
      vendors.doubles.recraft.play({ body: { created: 1, credits: 33.5, data: [{ b64_json }] } })
      expect(await cost({ model })).to.include({ cost: 0.0335, cost_status: 'reported' })
    })

    it('the list price, if the vendor reports nothing', async () => {
      const { body } = fixture('xai/moderated') as { body: { data: { b64_json: string }[] } }
      const [{ b64_json }] = body.data as [{ b64_json: string }]
      vendors.doubles.recraft.play({ body: { created: 1, data: [{ b64_json }] } })
      expect(await cost({ model })).to.include({ cost: 0.035, cost_status: 'exact' })
    })
  })
})
