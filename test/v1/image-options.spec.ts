import { expect } from 'chai'
import { readCatalogRows, statusAt } from '../../src/catalog/catalog.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { ImagesBody } from '../support/image-vendors.ts'
import { look } from '../support/pictures.ts'
import { pixel } from '../support/pixel.ts'

const models = readCatalogRows().filter(
  (row) => row.image !== undefined && statusAt(row, Date.now()) !== 'deactivated',
)
/** Sample requests. Sizes are small, since each picture is rendered; models adjust other sizes. */
const paintings = [
  { size: '512x512', output_format: 'jpeg', output_compression: 60 },
  { size: '640x360', output_format: 'webp', quality: 'auto' },
  { size: '1024x1024', output_format: 'png', style: 'natural', user: 'u-1' },
  { quality: 'high', background: 'opaque' },
]
const edits = [
  { output_format: 'webp', output_compression: 60, user: 'u-1' },
  { quality: 'high', background: 'opaque', input_fidelity: 'low' },
  { size: '1024x1536', quality: 'auto' },
]
/** Each model gets one sample request, to save time; the rows cover every model and every sample. */
const rows = models.map(({ id, image }, index) =>
  image!.reference_images_min > 0
    ? { id, path: '/v1/images/edits', asked: edits[index % edits.length]!, images: [pixel] }
    : { id, path: '/v1/images/generations', asked: paintings[index % paintings.length]! },
)

describe('the answer of an image model describes its bytes correctly', () => {
  let gateway: TestGateway
  before(async () => (gateway = await startGateway()))
  after(() => gateway.stop())

  for (const { id, path, asked, images } of rows) {
    it(`${id}: ${JSON.stringify(asked)}`, async () => {
      const sources = images && { images: images.map((url) => ({ image_url: url })) }
      const body = { model: id, prompt: 'a fox', ...sources, ...asked }
      const response = await gateway.post(path, body)
      const text = await response.text()
      if (response.status === 400) {
        const { error } = JSON.parse(text) as { error: { param: string } }
        expect(Object.keys(asked)).to.include(error.param)
        return
      }
      expect(response.status, text).to.equal(200)
      const answer = JSON.parse(text) as ImagesBody
      const { format, width, height } = await look(answer.data[0]!.b64_json)
      const size = `${width}x${height}`
      expect(answer).to.include({ output_format: format, size })
      if ('size' in asked) expect(size).to.equal(asked.size)
      if ('output_format' in asked) expect(format).to.equal(asked.output_format)
      const warned = (answer.warnings ?? []).map(({ param }) => param)
      expect(response.headers.get('x-gateway-warnings') ?? '0').to.equal(String(warned.length))
      if (warned.includes('quality')) expect(answer).to.not.have.property('quality')
      for (const param of warned) expect(Object.keys(asked)).to.include(param)
      const headers = { 'x-gateway-strict': 'true' }
      const strict = await gateway.post(path, body, { headers })
      if (warned.length === 0) expect(strict.status).to.equal(200)
      else {
        const { param } = await expectError(strict, {
          status: 400,
          code: 'unsupported_parameter',
        })
        expect(warned).to.include(param)
      }
    })
  }
})

/** One model of each kind: models of one kind have the same error messages. */
const distinct = [
  ...new Map(models.map((row) => [JSON.stringify([row.provider, row.image]), row])).values(),
].filter(({ capabilities }) => capabilities.image_generation)

describe('a refusal names valid values', () => {
  let gateway: TestGateway
  before(async () => (gateway = await startGateway()))
  after(() => gateway.stop())

  // The sandbox refuses this prompt after the gateway has accepted the options, and renders nothing.
  const prompt = 'a fox sandbox:content-policy'
  const accepted = 'content_policy_violation'
  const errorOf = async (response: Response) => {
    const { error } = (await response.json()) as { error: { message: string; code: string } }
    return error
  }
  const generate = (model: string, asked: object) =>
    gateway.post('/v1/images/generations', { model, prompt, ...asked })
  const chat = (model: string, image_config: object) =>
    gateway.post('/v1/chat/completions', {
      model,
      image_config,
      messages: [{ role: 'user', content: prompt }],
    })
  const shape = /\d+(?:\.\d+)?:\d+(?:\.\d+)?/g
  const probes = [
    { ask: generate, name: 'size', value: '9999x9999', values: /\d+x\d+|\b\dK\b/g },
    { ask: generate, name: 'quality', value: 'standard', values: /[a-z]+/g },
    { ask: chat, name: 'image_size', value: '9999x9999', values: /\d+x\d+|\b\dK\b/g },
    { ask: chat, name: 'image_size', value: '4K', values: /\d+x\d+|\b\dK\b/g },
    { ask: chat, name: 'aspect_ratio', value: '7:3', values: shape },
    { ask: chat, name: 'quality', value: 'hd', values: /[a-z]+/g },
  ]
  for (const { id } of distinct) {
    it(id, async () => {
      const circles: string[] = []
      for (const { ask, name, value, values } of probes) {
        const response = await ask(id, { [name]: value })
        const error = await errorOf(response)
        if ([accepted, 'unknown_parameter'].includes(error.code)) continue
        const remedy = error.message.slice(error.message.lastIndexOf(value) + value.length)
        const list = /(?:makes|has|one of)[ :]([^;]*)/.exec(remedy)?.[1] ?? ''
        for (const [named] of list.matchAll(values)) {
          if (['sizes', 'such', 'as', 'up', 'to'].includes(named)) continue
          const again = await ask(id, { [name]: named })
          const { code, message } = await errorOf(again)
          if (code !== accepted) circles.push(`${name} ${named}: ${message}`)
        }
      }
      expect(circles).to.deep.equal([])
    })
  }
})
