import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { expect } from 'chai'
import sharp from 'sharp'
import { startGateway } from '../support/gateway.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { callTool, connectClient, postMessages, textOf, toolCall } from '../support/mcp-client.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'

const picture = await paint({ width: 64, height: 48, format: 'png', number: 3 })
const base64 = picture.toString('base64')
const dataUrl = `data:image/png;base64,${base64}`
const editor = 'bytedance/seedream-4-5'

describe('pictures that a tool refuses before a paid call', () => {
  let vendors: ImageVendors
  let host: PublicHost
  let client: Client
  before(async () => {
    host = await startPublicHost()
    vendors = await startImageVendors({
      vendors: ['bytedance'],
      publicNet: host.net,
      limits: { request_bytes_max: 80 * 2 ** 20, buffered_bytes_max: 2 ** 30 },
    })
    client = await connectClient(vendors.gateway, vendors.gateway.liveKey)
  })
  beforeEach(() => vendors.reset())
  after(async () => {
    await client.close()
    await vendors.stop()
    await host.stop()
  })

  const call = (name: string, args: Record<string, unknown>) => callTool(client, name, args)

  const part = (data: string, mimeType = 'image/png') => ({ type: 'image', data, mimeType })
  const url = (address: string) => ({ type: 'image_url', image_url: { url: address } })
  const text = Buffer.from('I am a picture, says who sends me').toString('base64')
  const broken = picture.subarray(0, 40).toString('base64')
  const rows: [string, unknown, RegExp][] = [
    ['text with the type PNG', part(text), /not a PNG/],
    ['text in a data URL', url(`data:image/png;base64,${text}`), /not a PNG/],
    ['an SVG', part(Buffer.from('<svg/>').toString('base64'), 'image/svg+xml'), /not a PNG/],
    ['a truncated picture', part(broken), /broken|not a PNG/],
    ['wrong base64', part('§§§ this is no base64 at all §§§'), /not in base64/],
    ['nothing', part(''), /empty/],
    ['a private address', url('https://10.0.0.1:PORT/a.png'), /not public/],
    ['this machine', url('https://localhost:PORT/a.png'), /not public/],
    ['the metadata of a cloud', url('https://169.254.169.254:PORT/latest/meta-data'), /not public/],
    ['http', url('http://example.com/a.png'), /Only https/],
    ['a file', url('file:///etc/passwd'), /not an https address/],
    ['a bare path', url('/etc/passwd'), /not an https address/],
  ]
  it('chat: a PNG with the type JPEG is accepted with its correct type', async () => {
    const content = [{ type: 'text', text: 'A hat' }, part(base64, 'image/jpeg')]
    const answer = await call('chat', { model: editor, messages: [{ role: 'user', content }] })
    expect(answer.isError, textOf(answer)).to.not.equal(true)
    expect(textOf(answer)).to.match(/image\/jpeg.*are image\/png/)
  })

  for (const [name, image, says] of rows) {
    for (const tool of ['chat', 'generate-image']) {
      it(`${tool}: ${name}`, async () => {
        const asked: unknown = JSON.parse(JSON.stringify(image).replace('PORT', String(host.port)))
        const content = [{ type: 'text', text: 'A hat' }, asked]
        const args =
          tool === 'chat'
            ? { model: editor, messages: [{ role: 'user', content }] }
            : { model: editor, prompt: 'A hat', images: [dataUrl, asked] }
        const answer = await call(tool, args)
        expect(answer.isError).to.equal(true)
        expect(textOf(answer), textOf(answer)).to.match(says)
        // The message must name the picture among several.
        const at = tool === 'chat' ? 'messages[0].content[1]' : 'images[1]'
        expect(textOf(answer)).to.contain(`'${at}.`)
        expect(vendors.doubles.bytedance.calls).to.deep.equal([])
        expect(host.insideConnections()).to.equal(0)
      })
    }
  }

  const shapes: [string, unknown, RegExp][] = [
    ['17 pictures', Array(17).fill(dataUrl), /'images' must have at most 16 items/],
    ['no picture', [], /'images' must have at least 1 item/],
    ['null among them', [null], /'images\[0\]' must be/],
    ['a picture without a list', dataUrl, /Put it in a list/],
    ['a number', [4], /'images\[0\]' must be/],
    ['a part without data', [{ type: 'image' }], /'images\[0\]\.data' is required/],
    ['a part without an address', [{ type: 'image_url' }], /'images\[0\]\.image_url' is required/],
    ['an unknown part', [{ type: 'input_image' }], /must be one of: image_url, image/],
    [
      'a member with nearly the right name',
      [{ type: 'image_url', image_urls: { url: dataUrl } }],
      /image_urls' is .*image_url/,
    ],
  ]
  for (const [name, images, says] of shapes) {
    it(`generate-image: ${name}`, async () => {
      const answer = await call('generate-image', { prompt: 'A hat', model: editor, images })
      expect(answer.isError).to.equal(true)
      expect(textOf(answer), textOf(answer)).to.match(says)
    })
  }

  const contents: [string, unknown, RegExp][] = [
    ['no part', [], /content' must have at least 1 item/],
    [
      'an unknown part',
      [{ type: 'input_image', image_url: dataUrl }],
      /must be one of: text, image_url, image/,
    ],
    ['a part without a type', [{ text: 'x' }], /content\[0\]\.type' is required/],
    [
      'a member with nearly the right name',
      [{ type: 'image_url', image_urls: { url: dataUrl } }],
      /image_url' is required.*image_urls'/,
    ],
    ['a picture that is null', [{ type: 'image_url', image_url: null }], /image_url' is required/],
  ]
  for (const [name, content, says] of contents) {
    it(`chat: ${name}`, async () => {
      const args = { model: editor, messages: [{ role: 'user', content }] }
      const answer = await call('chat', args)
      expect(answer.isError).to.equal(true)
      expect(textOf(answer), textOf(answer)).to.match(says)
    })
  }

  it('a picture whose copies need more memory than the limit', async () => {
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
    const create = { width: 600, height: 500, channels: 3, background: '#888', noise } as const
    const large = (await sharp({ create }).png().toBuffer()).toString('base64')
    const paints = async (buffered_bytes_max: number) => {
      const gateway = await startGateway({ file: { limits: { buffered_bytes_max } } })
      try {
        const args = { prompt: 'x', model: editor, images: [part(large)] }
        const { answer } = await postMessages(gateway, toolCall('generate-image', args))
        return answer.error?.message ?? textOf(answer.result!)
      } finally {
        await gateway.stop()
      }
    }
    // Memory for the body, its parsed form, and the request to a provider.
    const held = 3 * large.length
    expect(await paints(Math.ceil(held + large.length))).to.contain(
      'more memory than one request may use',
    )
    expect(await paints(64 * 1024 * 1024)).to.contain('1 picture by')
  })

  it('a picture above the size limit, without decoding it', async () => {
    const data = 'A'.repeat(68_000_000)
    const answer = await call('generate-image', {
      prompt: 'x',
      model: editor,
      images: [part(data)],
    })
    expect(textOf(answer)).to.match(/An image may have at most 50000000 bytes/)
  })
})
