import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { picturesOf, postMessages, textOf, toolCall } from '../support/mcp-client.ts'
import { look } from '../support/pictures.ts'
import { signed } from '../support/signed-picture.ts'

const model = 'gpt-image-2'
const prompt = 'A seal on a letter'
const formats = ['png', 'jpeg', 'webp'] as const
const [width, height] = [1024, 1024]

const xmp = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><!-- trainedAlgorithmicMedia --></x:xmpmeta>'

async function picture(format: (typeof formats)[number]): Promise<Buffer> {
  const plain = await paint({ width, height, format, number: 3 })
  return signed(await sharp(plain).toFormat(format).withXmp(xmp).toBuffer(), format)
}

function answerWith(bytes: Buffer) {
  return { body: { created: 1, data: [{ b64_json: bytes.toString('base64') }] } }
}

describe('the C2PA signature of a picture', () => {
  let vendors: ImageVendors
  let folder: TemporaryFolder
  before(async () => {
    folder = makeFolder()
    const variables = { UPLOAD_DIR: folder.path }
    vendors = await startImageVendors({ vendors: ['openai', 'alibaba', 'google'], variables })
  })
  beforeEach(() => vendors.reset())
  after(async () => {
    await vendors.stop()
    folder.remove()
  })

  async function made(bytes: Buffer, asked: object) {
    vendors.doubles.openai.play(answerWith(bytes))
    const answer = await vendors.images({ model, prompt, ...asked })
    return { ...answer, bytes: Buffer.from(answer.data[0]!.b64_json, 'base64') }
  }

  for (const format of formats) {
    it(`is kept when the picture is not changed: ${format}`, async () => {
      const bytes = await picture(format)
      const answer = await made(bytes, { size: `${width}x${height}`, output_format: format })
      expect(answer.bytes.equals(bytes)).to.equal(true)
      expect(answer).to.not.have.property('warnings')
      expect(answer).to.include({ output_format: format, size: `${width}x${height}` })
    })

    const other = format === 'png' ? 'webp' : 'png'
    for (const [param, asked, value] of [
      ['output_format', { output_format: other }, other],
      ['size', { size: '800x800' }, '800x800'],
    ] as const) {
      it(`is lost by another ${param}, with a warning: ${format}`, async () => {
        const answer = await made(await picture(format), asked)
        const lost = (answer.warnings ?? []).filter(({ reason }) => reason.includes('C2PA'))
        expect(lost.map((one) => ({ ...one, reason: '' }))).to.deep.equal([
          { param, requested: value, applied: value, reason: '' },
        ])
        await look(answer.data[0]!.b64_json)
      })

      it(`causes no warning when the picture has none: ${format}, ${param}`, async () => {
        const plain = await paint({ width, height, format, number: 4 })
        const { warnings = [] } = await made(plain, asked)
        expect(warnings.filter(({ reason }) => reason.includes('C2PA'))).to.deep.equal([])
      })

      it(`is removed, and other metadata kept, with another ${param}: ${format}`, async () => {
        const answer = await made(await picture(format), asked)
        const kept = await sharp(answer.bytes).metadata()
        expect(String(kept.xmp)).to.include('trainedAlgorithmicMedia')
      })
    }
  }

  it('is kept in a picture that is fetched by URL', async () => {
    const bytes = await picture('png')
    vendors.doubles.alibaba.playFetches({ body: bytes })
    const size = '1328x1328'
    const { data } = await vendors.images({ model: 'alibaba/qwen-image', prompt })
    expect(Buffer.from(data[0]!.b64_json, 'base64').equals(bytes), size).to.equal(true)
  })

  it('is kept in a preview of the format that is requested, inline and saved', async () => {
    const bytes = await picture('jpeg')
    const inlineData = { mimeType: 'image/jpeg', data: bytes.toString('base64') }
    const content = { role: 'model', parts: [{ inlineData }] }
    vendors.doubles.google.play({ body: { candidates: [{ content, finishReason: 'STOP' }] } })
    const message = toolCall('generate-image-preview', { prompt, filename: 'a.jpg' })
    const { gateway } = vendors
    const { answer } = await postMessages(gateway, message, { key: gateway.liveKey })
    expect(picturesOf(answer.result!)[0]!.bytes.equals(bytes)).to.equal(true)
    const [name = ''] = readdirSync(folder.path)
    expect(name).to.equal('a.jpg')
    expect(readFileSync(join(folder.path, name)).equals(bytes)).to.equal(true)
    expect(textOf(answer.result!)).to.not.include('C2PA')
  })

  it('is not needed to keep a rotated picture unchanged, with its displayed size reported', async () => {
    const turned = await sharp(await paint({ width: 40, height: 20, format: 'jpeg', number: 5 }))
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer()
    const same = await made(turned, {})
    expect(same.bytes.equals(turned)).to.equal(true)
    expect(same.size).to.equal('20x40')
    const png = await made(turned, { output_format: 'png' })
    expect(png.size).to.equal('20x40')
    expect(await look(png.data[0]!.b64_json)).to.include({ width: 20, height: 40 })
  })
})
