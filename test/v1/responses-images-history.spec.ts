import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import {
  asksForImage,
  imagesIn,
  imageTool,
  readAnswer,
  startImageTool,
  type ImageToolHouse,
} from '../support/image-tool.ts'
import { pixel } from '../support/pixel.ts'

const base64 = pixel.slice(pixel.indexOf(',') + 1)
const ends = { text: ['There it is.'] }
const shows = { role: 'user', content: [{ type: 'input_image', image_url: pixel }] }

describe('an image of the tool image_generation', () => {
  let house: ImageToolHouse
  before(async () => {
    house = await startImageTool()
  })
  beforeEach(() => house.images.reset())
  after(() => house.stop())

  const create = async () => {
    house.says(asksForImage(), ends)
    return readAnswer(await house.post())
  }

  it('is shown to the model by its id, as OpenAI Agents sends it', async () => {
    const { output } = await create()
    const [image] = imagesIn({ output })
    for (const item of [
      { ...image, result: null },
      { type: image!.type, id: image!.id },
      { type: 'item_reference', id: image!.id },
    ]) {
      const sent = house.says(ends)
      const { warnings } = await readAnswer(
        await house.post({ input: [item, { role: 'user', content: 'Hm?' }] }),
      )
      expect(warnings).to.equal(undefined)
      expect(JSON.stringify(sent[0])).to.contain(String(image!['result']))
    }
  })

  it('is left out with a warning if it is an SVG, which is edited by no model', async () => {
    const drawing = await startImageTool({ vendors: ['recraft'] })
    const tools = [{ ...imageTool, model: 'recraft/recraftv4_1_vector' }]
    drawing.says(asksForImage(), asksForImage({ prompt: 'Bluer', action: 'edit' }), ends)
    const images = imagesIn(await readAnswer(await drawing.post({ tools })))
    expect(images.map(({ status }) => status)).to.deep.equal(['completed', 'failed'])
    expect(images[0]).to.include({ output_format: 'svg', size: '2048x2048' })
    const sent = drawing.says(ends)
    const input = [images[0], { role: 'user', content: 'Hm?' }]
    const { warnings } = await readAnswer(await drawing.post({ input, tools: [] }))
    expect(warnings!.map(({ reason }) => reason).join()).to.contain('vector pictures (SVG)')
    expect(JSON.stringify(sent[0])).to.contain('(a vector picture)').and.not.contain('svg+xml')
    await drawing.stop()
  })

  it('is left out with a warning if it is not stored', async () => {
    const item = { type: 'image_generation_call', id: 'ig_0', status: 'completed', result: null }
    const failed = { ...item, status: 'failed', result: '' }
    house.says(ends)
    const input = [{ role: 'user', content: 'Hm?' }, item, failed, { role: 'user', content: 'Hm?' }]
    const { warnings } = await readAnswer(await house.post({ input, tools: [] }))
    expect(warnings!.map(({ param }) => param)).to.deep.equal(['input[1].result'])
  })

  it('is refused by its place if it is no image', async () => {
    const answer = { role: 'assistant', content: 'Here.' }
    const item = { type: 'image_generation_call', id: 'ig_1', result: 'aGVsbG8=' }
    const response = await house.post({ input: [answer, item, shows] })
    await expectError(response, { status: 400, code: 'invalid_value', param: 'input[1].result' })
  })

  it('edits what the user shows, without the choice of the model', async () => {
    house.says(asksForImage({ prompt: 'Bluer' }), asksForImage({ prompt: 'Redder' }), ends)
    const tools = [{ ...imageTool, action: 'edit' }]
    const answer = await readAnswer(await house.post({ input: [shows], tools }))
    expect(imagesIn(answer).map(({ action }) => action)).to.deep.equal(['edit', 'edit'])
    const [first, second] = house.drawn().map(({ body }) => JSON.stringify(body))
    expect(first).to.contain(base64)
    expect(second).not.to.contain(base64)
    expect(second).to.contain(String(imagesIn(answer)[0]!['result']))
  })

  it('is not stored if it is too large, and says so', async () => {
    const small = await startImageTool({ bounds: { storedResponseBytesMax: 2000 } })
    try {
      for (const stream of [false, true]) {
        small.says(asksForImage(), ends)
        const response = await small.post({ stream })
        const answer = await readAnswer(response)
        expect(answer.store).to.equal(false)
        expect(answer.warnings!.at(-1)).to.deep.include({ param: 'store', applied: false })
        expect(imagesIn(answer)[0]!['result']).to.have.length.greaterThan(2000)
      }
    } finally {
      await small.stop()
    }
  })
})
