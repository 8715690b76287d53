import { expect } from 'chai'
import { imageConfigs, previewModel, prices } from '../contract/document.ts'
import { answerComplaints, received } from '../support/answers.ts'
import { expectError } from '../support/expect-error.ts'
import { startImageVendors, type ImagesBody, type ImageVendors } from '../support/image-vendors.ts'
import { look, lookAtUrl, type ChatImagesBody } from '../support/pictures.ts'
import { pixel } from '../support/pixel.ts'

const prompt = 'A paper boat on a pond'
const messages = [{ role: 'user', content: prompt }]
const chat = '/v1/chat/completions'

/** Every image model of the product document, with its price per picture and its default output. */
const models = [
  // $2 a million for 13 input tokens, $120 for 1120 picture tokens, and $12 for 117 reasoning tokens.
  { id: previewModel.id, usd: '0.13583', size: '1024x1024', edits: true },
  ...prices.map(([id, usd]) => ({
    id,
    usd,
    size: { alibaba: '1664x928', bytedance: '2048x2048' }[id.split('/')[0]!],
    edits: id.startsWith('bytedance/'),
  })),
]
const ownSizes: Record<string, string> = {
  'zai/cogview-4': '1024x1024',
  'zai/glm-image': '1280x1280',
}

describe('each model of the product document, with test vendors,', () => {
  let vendors: ImageVendors
  before(async () => (vendors = await startImageVendors()))
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  async function chatWith(body: object, headers = {}): Promise<ChatImagesBody> {
    const answer = await received(await vendors.post(chat, { messages, ...body }, { headers }))
    expect(answer.status, answer.text).to.equal(200)
    expect(answerComplaints('createChatCompletion', answer)).to.deep.equal([])
    return JSON.parse(answer.text) as ChatImagesBody
  }

  for (const { id, usd, size = ownSizes[id], edits } of models) {
    it(`makes a picture: ${id}`, async () => {
      const path = '/v1/images/generations'
      const answer = await received(await vendors.post(path, { model: id, prompt }))
      expect(answerComplaints('createImage', answer)).to.deep.equal([])
      expect(answer.headers.get('x-gateway-cost-usd')).to.equal(usd)
      expect(answer.headers.get('x-gateway-model')).to.equal(id)
      const body = JSON.parse(answer.text) as ImagesBody
      const { width, height, format } = await look(body.data[0]!.b64_json)
      expect(`${width}x${height}`).to.equal(size)
      expect(body).to.include({ size, output_format: format })
      expect(body).to.not.have.any.keys('warnings', 'quality', 'background')
      expect(body.usage).to.include({ cost: Number(usd), cost_status: 'exact' })
    })

    it(`makes pictures in a chat: ${id}`, async () => {
      const { choices, usage, warnings } = await chatWith({ model: id, n: 2 })
      expect(choices).to.have.length(1)
      const [{ message, ...choice }] = choices as [(typeof choices)[0]]
      expect(choice).to.deep.equal({ index: 0, logprobs: null, finish_reason: 'stop' })
      expect(message).to.include({ role: 'assistant', content: null, refusal: null })
      expect(message.images.map(({ type }) => type)).to.deep.equal(['image_url', 'image_url'])
      for (const { image_url: image } of message.images) {
        const { width, height } = await lookAtUrl(image.url)
        expect(`${width}x${height}`).to.equal(size)
      }
      expect(usage.cost).to.equal(Number(usd) * 2)
      expect(warnings).to.equal(undefined)
    })

    it(`${edits ? 'edits a picture' : 'refuses an edit'}: ${id}`, async () => {
      const images = [{ image_url: pixel }]
      const body = { model: id, images, prompt }
      const inChat = {
        model: id,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: prompt },
              { type: 'image_url', image_url: { url: pixel } },
            ],
          },
        ],
      }
      if (!edits) {
        const refused = { status: 400, code: 'model_capability_mismatch' }
        await expectError(await vendors.post('/v1/images/edits', body), {
          ...refused,
          param: 'images',
        })
        await expectError(await vendors.post(chat, inChat), { ...refused, param: 'messages' })
        return
      }
      const answer = await received(await vendors.post('/v1/images/edits', body))
      expect(answerComplaints('createImageEdit', answer)).to.deep.equal([])
      const { data, usage } = JSON.parse(answer.text) as ImagesBody
      expect((await look(data[0]!.b64_json)).width).to.be.greaterThan(0)
      expect(usage.cost).to.equal(Number(usd))
      const { choices } = await chatWith(inChat)
      await lookAtUrl(choices[0]!.message.images[0]!.image_url.url)
      const wires = Object.values(vendors.doubles).flatMap(({ calls }) => calls)
      expect(wires).to.have.length(2)
      expect(wires[1]!.body).to.deep.equal(wires[0]!.body)
    })
  }

  const groups: Record<string, string> = {
    ImageConfigGoogle: 'gemini',
    ImageConfigAlibaba: 'alibaba/',
    ImageConfigZai: 'zai/',
    ImageConfigBytedance: 'bytedance/',
  }
  const classes: Record<string, string> = {
    '1K': '1024x1024',
    '2K': '2048x2048',
    '4K': '4096x4096',
    '1:1': '1024x1024',
    '16:9': '1376x768',
    '4:3': '1200x896',
    '5:4': '1152x928',
  }
  for (const [group, rows] of Object.entries(imageConfigs)) {
    const ids = models.map(({ id }) => id).filter((id) => id.startsWith(groups[group]!))
    for (const { name, values, accepts, maximum } of rows) {
      const examples = [...(values ?? []), ...(accepts ?? []), maximum] as (string | number)[]
      for (const id of ids) {
        it(`accepts ${name} as documented, in ${examples.join(', ')}: ${id}`, async () => {
          for (const value of examples.filter((one) => one !== undefined)) {
            const { choices } = await chatWith({ model: id, image_config: { [name]: value } })
            const { images } = choices[0]!.message
            expect(images).to.have.length(name === 'n' ? Number(value) : 1)
            const { width, height } = await lookAtUrl(images[0]!.image_url.url)
            const wanted = classes[String(value)] ?? String(value)
            if (name !== 'n' && name !== 'seed') expect(`${width}x${height}`).to.equal(wanted)
          }
        })
      }
    }
  }

  it('accepts a size class and a ratio together', async () => {
    const image_config = { aspect_ratio: '16:9', image_size: '2K' }
    const { choices } = await chatWith({ model: previewModel.id, image_config })
    const { width, height } = await lookAtUrl(choices[0]!.message.images[0]!.image_url.url)
    expect({ width, height }).to.deep.equal({ width: 2752, height: 1536 })
  })

  const foreign = [
    { id: previewModel.id, config: { aspect_ratio: '7:3' }, code: 'invalid_value' },
    { id: previewModel.id, config: { image_size: '8K' }, code: 'invalid_value' },
    { id: previewModel.id, config: { quality: 'hd' }, code: 'unknown_parameter' },
    { id: 'alibaba/qwen-image', config: { n: 5 }, code: 'invalid_value' },
    { id: 'alibaba/qwen-image', config: { aspect_ratio: '1:1' }, code: 'unknown_parameter' },
    { id: 'zai/cogview-4', config: { seed: 1 }, code: 'unknown_parameter' },
    { id: 'zai/cogview-4', config: { image_size: '2K' }, code: 'invalid_value' },
    { id: 'bytedance/seedream-4-0', config: { seed: 1 }, code: 'unknown_parameter' },
    { id: 'gpt-image-2', config: { aspect_ratio: '1:1' }, code: 'unknown_parameter' },
  ]
  for (const { id, config, code } of foreign) {
    const param = `image_config.${Object.keys(config)[0]}`
    it(`refuses ${JSON.stringify(config)} by name: ${id}`, async () => {
      const response = await vendors.post(chat, { model: id, messages, image_config: config })
      await expectError(response, { status: 400, code, param })
      expect(Object.values(vendors.doubles).flatMap(({ calls }) => calls)).to.deep.equal([])
    })
  }
})
