import { expect } from 'chai'
import fc from 'fast-check'
import { toFile } from 'openai'
import sharp from 'sharp'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { imageEventsIn, namesOf } from '../support/image-events.ts'
import { openAiClient } from '../support/openai-client.ts'

const prompt = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
    fc.constantFrom(
      'two red cats by the sea at night',
      '夜晚的城市',
      '</svg>\u0007',
      'x'.repeat(3000),
    ),
  )
  .filter((text) => text.trim() !== '' && !/sandbox:/i.test(text))

describe('a picture of the sandbox', function () {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  const bytesOf = (answer: { data?: { b64_json?: string }[] }) =>
    Buffer.from(answer.data![0]!.b64_json!, 'base64')

  it('has the requested size and format whatever the prompt', () =>
    fc.assert(
      fc.asyncProperty(
        prompt,
        fc.constantFrom('256x256', '1024x1024', '1792x1024', '1024x1792', '640x480'),
        fc.constantFrom('png', 'jpeg', 'webp'),
        async (text, size, format) => {
          const response = await gateway.post('/v1/images/generations', {
            model: 'qwen-image-plus',
            prompt: text,
            size,
            output_format: format,
          })
          const answer = (await response.json()) as { data: { b64_json: string }[] }
          expect(response.status, JSON.stringify(answer).slice(0, 300)).to.equal(200)
          const made = await sharp(bytesOf(answer)).metadata()
          expect(`${made.width}x${made.height} ${made.format}`).to.equal(`${size} ${format}`)
        },
      ),
      { numRuns: 12 },
    ))

  it('differs from the others of its request', async () => {
    const { data = [] } = await openAiClient(gateway).images.generate({
      model: 'qwen-image-plus',
      prompt: 'a house',
      n: 3,
      size: '512x512',
    })
    expect(new Set(data.map((picture) => picture.b64_json)).size).to.equal(3)
  })

  it('is, after an edit, the given picture with additions for the prompt', async () => {
    const source = await sharp({
      create: { width: 512, height: 512, channels: 3, background: '#20c040' },
    })
      .png()
      .toBuffer()
    const answer = await openAiClient(gateway).images.edit({
      model: 'gpt-image-2',
      image: await toFile(source, 'a.png', { type: 'image/png' }),
      prompt: 'add a cat',
      size: '1024x1024',
    })
    const { data, info } = await sharp(bytesOf(answer)).raw().toBuffer({ resolveWithObject: true })
    let kept = 0
    for (let at = 0; at < data.length; at += info.channels) {
      if (Math.abs(data[at]! - 0x20) + Math.abs(data[at + 1]! - 0xc0) < 12) kept += 1
    }
    expect(kept / (info.width * info.height)).to.be.within(0.5, 0.97)
  })

  it('is streamed with partial images, from coarse to fine, whose pictures are always the same', async () => {
    const stream = async (text: string) => {
      const body = { model: 'gpt-image-2', prompt: text, stream: true, partial_images: 3 }
      const headers = { 'cache-control': 'no-store' }
      const response = await gateway.post('/v1/images/generations', body, { headers })
      return imageEventsIn(await response.text())
    }
    const events = await stream('a red boat')
    expect(namesOf(events)).to.deep.equal([
      'partial 0/0',
      'partial 0/1',
      'partial 0/2',
      'completed 0',
    ])
    const colours = await Promise.all(
      events.map(async ({ b64_json: base64 }) => {
        const pixels = await sharp(Buffer.from(base64, 'base64')).raw().toBuffer()
        const seen = new Set<number>()
        for (let at = 0; at < pixels.length; at += 3) seen.add(pixels.readUIntBE(at, 3))
        return seen.size
      }),
    )
    expect(colours).to.deep.equal(colours.toSorted((one, other) => one - other))
    expect(events.at(-1)!.usage).to.include({ output_tokens: 1056 + 3 * 100 })
    const again = await stream('a red boat')
    expect(again.map(({ b64_json: base64 }) => base64)).to.deep.equal(
      events.map(({ b64_json: base64 }) => base64),
    )
    const cut = await stream('sandbox:cut-stream sandbox:slow-stream=1')
    expect(namesOf(cut)).to.deep.equal(['partial 0/0', 'partial 0/1', 'partial 0/2', 'error'])
  })
})
