import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { readCatalogRows } from '../../src/catalog/catalog.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { pixel } from '../support/pixel.ts'

type Schemas = components['schemas']
type Form = Schemas['ImageForm']

const prompt = 'A boat'
const strict = { 'x-gateway-strict': 'true' }

describe('the form of an image model', () => {
  let gateway: TestGateway
  let models: Schemas['Model'][]
  before(async () => {
    gateway = await startGateway()
    const list = await gateway.fetch('/v1/models?include_deactivated=true')
    models = ((await list.json()) as Schemas['ModelList']).data
  })
  after(() => gateway.stop())

  const formOf = (id: string): Form => models.find((model) => model.id === id)!.image_form!
  const parameter = (id: string, name: string) =>
    formOf(id).parameters.find((one) => one.name === name)

  it('is that of the model alone, and of /api/models', async () => {
    const id = 'ideogram/ideogram-4-5'
    const one = await gateway.fetch(`/v1/models/${id}`)
    expect(((await one.json()) as Schemas['Model']).image_form).to.deep.equal(formOf(id))
    const path = `/api/models?model=${id}`
    const entries = await gateway.fetch(path, { key: gateway.adminKey })
    const [entry] = ((await entries.json()) as Schemas['CatalogList']).data
    expect(entry!.model.image_form).to.deep.equal(formOf(id))
    expect(entry!.parameters).to.deep.equal(formOf(id).parameters)
  })

  it('is null for other models', () => {
    for (const { id, image, image_form: form } of models)
      expect(form === null, id).to.equal(image === null)
  })

  it('agrees with the row of each model', () => {
    for (const { id, image, capabilities, makes_tasks: isTask, ...row } of readCatalogRows()) {
      if (image === undefined || models.every((model) => model.id !== id)) continue
      const { operations, input_images: inputs, asynchronous, parameters } = formOf(id)
      expect(operations.includes('generation'), id).to.equal(capabilities.image_generation)
      expect(operations.includes('edit'), id).to.equal(capabilities.image_edit)
      expect(inputs?.maximum ?? 0, id).to.equal(image.reference_images_max)
      expect(inputs?.bytes_max ?? undefined, id).to.equal(row.input_image_bytes_max)
      expect(asynchronous, id).to.equal(isTask === true)
      const names = parameters.map(({ name }) => name)
      expect(names.includes('images'), id).to.equal(inputs !== null)
      expect(new Set(names)).to.have.property('size', names.length)
      for (const { name, type } of parameters) expect(type, `${id} ${name}`).to.be.a('string')
    }
  })

  it('has vectors only where they are made', () => {
    expect(parameter('recraft/recraftv4_1_vector', 'output_format')!.values).to.deep.equal(['svg'])
    expect(parameter('ideogram/ideogram-4-6', 'output_format')!.values).to.not.include('svg')
  })

  it('has sizes to offer within the bounds of a model with free sizes, and ratios with classes', () => {
    const { values, examples } = parameter('bytedance/seedream-4-5', 'size')!
    expect(values).to.equal(undefined)
    expect(examples).to.include('2048x2048').and.not.include('1024x1024')
    expect(parameter('ideogram/ideogram-4-5', 'image_config.aspect_ratio')!.values).to.include(
      '16:9',
    )
    expect(parameter('ideogram/ideogram-4-5', 'image_config.image_size')!.values).to.deep.equal([
      '1K',
      '2K',
    ])
    expect(parameter('ideogram/ideogram-4-5', 'image_config.magic_prompt')).to.deep.equal({
      name: 'image_config.magic_prompt',
      type: 'string',
      values: ['auto', 'on', 'off'],
    })
  })

  const shown = [
    'ideogram/ideogram-4-6',
    'ideogram/ideogram-4-5',
    'gemini-3.1-flash-image',
    'recraft/recraftv4_1',
    'bytedance/seedream-5-5',
    'xai/grok-imagine-image-2.0',
  ]
  for (const id of shown) {
    it(`has values that are taken without a warning: ${id}`, async () => {
      const { parameters, input_images: inputs } = formOf(id)
      for (const { name, values = [], examples = [] } of parameters) {
        const [option] = /^image_config\.(\w+)$/.exec(name)?.slice(1) ?? []
        const offered = option === undefined ? [...values, ...examples].slice(0, 2) : values
        // A setting that needs others: the quality of an edit, and compression.
        if (name === 'quality' && id.startsWith('recraft')) continue
        for (const value of offered) {
          const body =
            option === undefined
              ? { model: id, prompt, [name]: value }
              : {
                  model: id,
                  messages: [{ role: 'user', content: prompt }],
                  image_config: { [option]: value },
                }
          const path = option === undefined ? '/v1/images/generations' : '/v1/chat/completions'
          const answer = await gateway.post(path, body, { headers: strict })
          expect(answer.status, `${id} ${name} ${value} ${await answer.text()}`).to.equal(200)
        }
      }
      if (inputs === null) return
      const images = Array.from({ length: inputs.maximum + 1 }, () => ({ image_url: pixel }))
      const more = await gateway.post('/v1/images/edits', { model: id, prompt, images })
      expect(more.status, id).to.equal(400)
    })
  }
})
