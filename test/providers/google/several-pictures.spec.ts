import { readdirSync } from 'node:fs'
import { expect } from 'chai'
import type { components } from '../../../generated/types.ts'
import { numberIn, paint } from '../../support/image-doubles/paint.ts'
import { makeFolder } from '../../support/folder.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { asksForImage, imagesIn, readAnswer, startImageTool } from '../../support/image-tool.ts'
import { picturesOf, postMessages, textOf, toolCall } from '../../support/mcp-client.ts'

const model = 'gemini-3-pro-image-preview'
const prompt = 'Two cranes, each for itself'

const painted = async (number: number) =>
  (await paint({ width: 64, height: 64, format: 'png', number })).toString('base64')
const pictureOf = (data: string, more: object = {}) => ({
  inlineData: { mimeType: 'image/png', data },
  ...more,
})
function answerWith(...parts: object[]) {
  const content = { role: 'model', parts }
  return { body: { candidates: [{ content, finishReason: 'STOP', index: 0 }] } }
}
/** Two pictures among texts and thoughts. */
const two = answerWith(
  { text: 'Let me think: {"data":"not this"}', thought: true },
  pictureOf(await painted(9), { thought: true }),
  pictureOf(await painted(10)),
  { text: 'Here "it" is.' },
  pictureOf(await painted(11), { thoughtSignature: 'CpQB' }),
  pictureOf(await painted(12), { thought: true }),
)
const warning = {
  param: 'n',
  requested: 1,
  applied: 2,
  reason: 'The model made 2 pictures. All are returned and charged.',
}

describe('an answer of Gemini with several pictures', () => {
  let vendors: ImageVendors
  const folder = makeFolder()
  before(async () => {
    const variables = { UPLOAD_DIR: folder.path, DEFAULT_IMAGE_MODEL: model }
    vendors = await startImageVendors({ vendors: ['google'], variables })
  })
  beforeEach(() => vendors.reset())
  after(async () => {
    await vendors.stop()
    folder.remove()
  })

  const numbersIn = (pictures: { b64_json: string }[]) =>
    Promise.all(pictures.map(({ b64_json }) => numberIn(Buffer.from(b64_json, 'base64'))))
  const callTool = async (name: string, args: object) => {
    const key = vendors.gateway.liveKey
    const { answer } = await postMessages(vendors.gateway, toolCall(name, args), { key })
    return answer.result!
  }

  it('is returned with all pictures but thoughts, in order and with a warning', async () => {
    vendors.doubles.google.play(two)
    const { data, usage, warnings } = await vendors.images({ model, prompt })
    expect(await numbersIn(data)).to.deep.equal([10, 11])
    expect(warnings).to.deep.equal([warning])
    expect(usage.cost_details.images).to.equal(2)
    expect((await vendors.gateway.usage()).at(-1)).to.include({ outcome: 'ok', images: 2 })
  })

  it('is counted among the other answers of a request', async () => {
    vendors.doubles.google.play('paint', two)
    const { data, warnings } = await vendors.images({ model, prompt, n: 2 })
    expect(data).to.have.length(3)
    const reason = warning.reason.replace('2', '3')
    expect(warnings).to.deep.equal([{ ...warning, requested: 2, applied: 3, reason }])
  })

  it('is returned with its last ten pictures, if it has more', async () => {
    const pictures = await Promise.all(Array.from({ length: 12 }, (_, at) => painted(at)))
    vendors.doubles.google.play(answerWith(...pictures.map((one) => pictureOf(one))))
    const { data } = await vendors.images({ model, prompt })
    expect(await numbersIn(data)).to.deep.equal([2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  })

  it('is shown whole in a chat', async () => {
    vendors.doubles.google.play(two)
    const messages = [{ role: 'user', content: prompt }]
    const response = await vendors.post('/v1/chat/completions', { model, messages })
    const answer = (await response.json()) as components['schemas']['ChatCompletion']
    expect(answer.choices[0]!.message.images).to.have.length(2)
    expect(answer.warnings).to.deep.equal([warning])
  })

  it('is shown whole by the tools, and each picture of a preview is saved', async () => {
    vendors.doubles.google.play(two, two)
    const shown = await callTool('generate-image', { model, prompt })
    expect(picturesOf(shown)).to.have.length(2)
    expect(textOf(shown)).to.contain('2 pictures').and.contain(warning.reason)
    const before = readdirSync(folder.path).length
    const saved = await callTool('generate-image-preview', { prompt, filename: 'crane.png' })
    expect(picturesOf(saved)).to.have.length(2)
    expect(textOf(saved)).to.contain('crane.png').and.contain('crane-2.png')
    expect(readdirSync(folder.path)).to.have.length(before + 2)
  })

  for (const stream of [false, true]) {
    it(`is an item for each picture of the tool image_generation${stream ? ', in a stream' : ''}`, async () => {
      const house = await startImageTool({ vendors: ['xai', 'google'] })
      const { google } = house.upstreams
      house.says(asksForImage(), { text: ['There.'], counts: { input: 200, output: 20 } })
      google.answer(() => two)
      const tools = [{ type: 'image_generation', model }]
      const answer = await readAnswer(await house.post({ tools, stream }))
      const images = imagesIn(answer)
      const results = images.map(({ result }) => ({ b64_json: String(result) }))
      expect(await numbersIn(results)).to.deep.equal([10, 11])
      expect(images.map(({ status }) => status)).to.deep.equal(['completed', 'completed'])
      expect(new Set(images.map(({ id }) => id)).size).to.equal(2)
      await house.stop()
    })
  }
})
