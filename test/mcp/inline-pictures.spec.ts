import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import { createShrink } from '../../src/pictures/shrink.ts'
import { encodeBase64 } from '../../src/bytes/base64.ts'
import { piecesLength } from '../../src/bytes/pieces.ts'
import { readPicture } from '../../src/core/image/picture.ts'
import { createPixelQueue } from '../../src/pictures/finish.ts'
import { bounds } from '../../src/settings/bounds.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { picturesOf, postMessages, textOf, toolCall } from '../support/mcp-client.ts'
import { startUploading, type UploadingGateway } from '../support/upload-folder.ts'

const bytesMax = 20_000
const atMoment = 1_763_640_000_000

async function painted(gateway: TestGateway, args: object, tool = 'generate-image') {
  const { answer } = await postMessages(gateway, toolCall(tool, { prompt: 'a fox', ...args }))
  const { result } = answer
  return { text: textOf(result!), pictures: picturesOf(result!), isError: result!.isError }
}

describe('the size limit of pictures in a result', () => {
  let uploading: UploadingGateway
  let gateway: TestGateway
  let folder: string
  beforeEach(async () => {
    uploading = await startUploading({
      file: { limits: { tool_inline_image_bytes_max: bytesMax } },
      clock: () => atMoment,
    })
    ;({ gateway, folder } = uploading)
  })
  afterEach(() => uploading.stop())

  for (const tool of ['generate-image', 'chat'] as const) {
    it(`shows a preview and saves the full picture: ${tool}`, async () => {
      const model = 'zai/cogview-4'
      const messages = [{ role: 'user', content: 'a fox' }]
      const message = toolCall(
        tool,
        tool === 'chat' ? { model, messages } : { model, prompt: 'a fox' },
      )
      const { answer } = await postMessages(gateway, message)
      const [shown] = picturesOf(answer.result!)
      expect(shown!.bytes.toString('base64').length).to.be.at.most(bytesMax)
      expect(shown!.mimeType).to.equal('image/jpeg')
      const small = await sharp(shown!.bytes).metadata()
      const [name, ...others] = readdirSync(folder)
      expect(others).to.deep.equal([])
      expect(name).to.equal(`image-${atMoment}.png`)
      const full = await sharp(readFileSync(join(folder, name!))).metadata()
      expect(full.width).to.be.greaterThan(small.width)
      expect(textOf(answer.result!))
        .to.contain(`by zai/cogview-4, ${full.width}x${full.height} PNG`)
        .and.contain(`Shown as a preview of ${small.width}x${small.height}`)
        .and.contain(`Saved as ${join(folder, name!)}.`)
    })
  }

  it('saves several pictures under different names', async () => {
    const { pictures, text } = await painted(gateway, { model: 'zai/cogview-4', n: 3 })
    expect(pictures).to.have.length(3)
    expect(readdirSync(folder)).to.have.length(3)
    expect(text.match(/Saved as/g)).to.have.length(3)
  })

  it('saves a vector picture, of which it makes no preview', async () => {
    const model = 'recraft/recraftv4_1_vector'
    const { pictures, text } = await painted(gateway, {
      model,
      prompt: 'a cat, a bird, a boat, a fish, flowers, trees and a lighthouse',
    })
    expect(pictures).to.deep.equal([])
    expect(readdirSync(folder)).to.deep.equal([`image-${atMoment}.svg`])
    expect(text).to.contain('1024x1024 SVG').and.contain('Not shown').and.contain('Saved as')
  })

  it('saves the picture of generate-image-preview only once', async () => {
    const { pictures, text } = await painted(gateway, {}, 'generate-image-preview')
    expect(pictures[0]!.bytes.toString('base64').length).to.be.at.most(bytesMax)
    expect(readdirSync(folder)).to.have.length(1)
    expect(text).to.contain('Shown as a preview').and.contain('Saved as')
  })
})

describe('the size limit of pictures in a result, without an upload folder', () => {
  const started = async (tool_inline_image_bytes_max?: number) =>
    startGateway({
      file: {
        limits: tool_inline_image_bytes_max === undefined ? {} : { tool_inline_image_bytes_max },
      },
    })

  it('reports that the full picture is not saved', async () => {
    const gateway = await started(bytesMax)
    try {
      const { text, pictures } = await painted(gateway, {})
      expect(pictures).to.have.length(1)
      expect(text).to.contain('It is not saved: this server has no upload folder (UPLOAD_DIR).')
      const preview = await painted(gateway, {}, 'generate-image-preview')
      expect(preview.text).to.contain('Shown as a preview').and.contain('It is not saved')
    } finally {
      await gateway.stop()
    }
  })

  it('shows no picture if no preview is small enough, and the call succeeds', async () => {
    const gateway = await started(100)
    try {
      const { text, pictures, isError } = await painted(gateway, {})
      expect({ pictures, isError }).to.deep.equal({ pictures: [], isError: undefined })
      expect(text).to.contain('Not shown')
    } finally {
      await gateway.stop()
    }
  })

  it('is off by default: the bytes are the same as in the HTTP API', async () => {
    const gateway = await started()
    try {
      const args = { prompt: 'a fox', model: 'zai/cogview-4', size: '1024x1024' }
      const response = await gateway.post('/v1/images/generations', args)
      const { data } = (await response.json()) as { data: { b64_json: string }[] }
      const { pictures } = await painted(gateway, args)
      expect(pictures[0]!.bytes.toString('base64')).to.equal(data[0]!.b64_json)
    } finally {
      await gateway.stop()
    }
  })
})

describe('a smaller copy of a picture', () => {
  const pixelQueue = createPixelQueue(bounds)
  const noise = async (channels: 3 | 4) => {
    const options = { width: 700, height: 500, channels, background: '#888' } as const
    const gaussian = { type: 'gaussian', mean: 128, sigma: 60 } as const
    const image = sharp({ create: { ...options, noise: gaussian } }).removeAlpha()
    const seen = channels === 4 ? image.ensureAlpha(0.4) : image
    return readPicture(encodeBase64([await seen.png().toBuffer()]))!
  }

  for (const [channels, format] of [
    [3, 'jpeg'],
    [4, 'webp'],
  ] as const) {
    it(`is ${format} with ${channels} channels, of the same shape, close to the size limit`, async () => {
      const full = await noise(channels)
      const sides: number[] = []
      for (const most of [200_000, 50_000, 10_000]) {
        const small = await createShrink(pixelQueue)(full, most)
        expect(piecesLength(small!.base64)).to.be.at.most(most)
        expect(small!.format).to.equal(format)
        expect(small!.width / small!.height).to.be.closeTo(1.4, 0.03)
        sides.push(small!.width)
      }
      expect(sides).to.deep.equal(sides.toSorted((a, b) => b - a))
      expect(await createShrink(pixelQueue)(full, 10)).to.equal(undefined)
    })
  }
})
