import { crc32, deflateSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import sharp from 'sharp'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'
import { pixel } from '../support/pixel.ts'

const prompt = 'A hat for everyone'
const model = 'gpt-image-2'
const picture = await paint({ width: 64, height: 48, format: 'png', number: 3 })
const photo = await sharp({
  create: {
    width: 200,
    height: 150,
    channels: 3,
    background: '#888',
    noise: { type: 'gaussian', mean: 128, sigma: 40 },
  },
})
  .jpeg()
  .toBuffer()
const noise = await sharp(photo).png().toBuffer()
const webp = await sharp(photo).webp().toBuffer()

const dataUrl = (bytes: Buffer, type = 'image/png') =>
  `data:${type};base64,${bytes.toString('base64')}`

/** A small PNG whose header declares large dimensions. */
function hugePng(width: number, height: number): Buffer {
  const bytes = Buffer.from(picture)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

const svg = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>',
)
const gif = await sharp(picture).gif().toBuffer()
const bmpHeader = Buffer.concat([Buffer.from('BM'), Buffer.alloc(60, 1)])
const heicHeader = Buffer.from('000000186674797068656963', 'hex')

type Wrong = { name: string; bytes: Buffer; status?: number; says?: RegExp }
/** Invalid pictures, which are refused as data URLs and as URLs. */
const wrong: Wrong[] = [
  { name: 'a text called PNG', bytes: Buffer.from('hello, I am a picture'), says: /not a PNG/ },
  { name: 'an SVG', bytes: svg, says: /not a PNG/ },
  { name: 'an SVG after a byte order mark', bytes: Buffer.from(`\ufeff${String(svg)}`) },
  { name: 'a GIF', bytes: gif, says: /not a PNG|are image\/gif/ },
  { name: 'a BMP', bytes: bmpHeader },
  { name: 'a HEIC', bytes: heicHeader, says: /This is a HEIC image/ },
  { name: 'a PDF', bytes: Buffer.from('%PDF-1.7') },
  { name: 'a PNG within gzip', bytes: gzipSync(picture) },
  { name: 'a PNG of 60,000 by 60,000', bytes: hugePng(60_000, 60_000), says: /60000x60000/ },
  { name: 'a PNG without pixels', bytes: hugePng(0, 10) },
  { name: 'a PNG with too little data for its size', bytes: hugePng(6000, 6000), says: /broken/ },
  { name: 'a PNG that breaks off', bytes: noise.subarray(0, noise.length / 2), says: /broken/ },
  { name: 'a JPEG that breaks off', bytes: photo.subarray(0, photo.length - 200), says: /broken/ },
  { name: 'a WebP that breaks off', bytes: webp.subarray(0, webp.length - 20), says: /broken/ },
  { name: 'the head of a PNG', bytes: picture.subarray(0, 24) },
  { name: 'the first bytes of a PNG', bytes: picture.subarray(0, 8) },
]
/** Large-input-pictures.spec.ts sends them in chats. */
const wrongAndLarge: Wrong = {
  name: 'more than 50 MB',
  bytes: Buffer.concat([picture, Buffer.alloc(50_000_000)]),
  status: 413,
}

type Host = { name: string; status: number; code: string; isPatient?: true; serve: () => void }

describe('input pictures', () => {
  let host: PublicHost
  let gateway: TestGateway
  let impatient: TestGateway
  before(async () => {
    host = await startPublicHost()
    const bounds = { connectTimeoutMs: 500, idleTimeoutMs: 500, totalTimeoutMs: 2000 }
    const file = { limits: { request_bytes_max: 70 * 2 ** 20 } }
    gateway = await startGateway({ publicNet: host.net, file })
    impatient = await startGateway({ publicNet: { ...host.net, ...bounds } })
  })
  beforeEach(() => host.reset())
  after(async () => {
    await gateway.stop()
    await impatient.stop()
    await host.stop()
  })

  const faces: {
    name: string
    ask: (urls: string[], through?: TestGateway) => Promise<Response>
    param: (index: number) => string
  }[] = [
    {
      name: 'of an edit',
      ask: (urls, through = gateway) => {
        const images = urls.map((url) => ({ image_url: url }))
        return through.post('/v1/images/edits', { model, images, prompt })
      },
      param: (index) => `images[${index}].image_url`,
    },
    {
      name: 'of a chat',
      ask: (urls, through = gateway) => {
        const parts = urls.map((url) => ({ type: 'image_url', image_url: { url } }))
        const content = [{ type: 'text', text: prompt }, ...parts]
        const messages = [{ role: 'user', content }]
        return through.post('/v1/chat/completions', { model, messages })
      },
      param: (index) => `messages[0].content[${index + 1}].image_url.url`,
    },
  ]

  for (const { name: face, ask, param } of faces) {
    /** The second of three pictures is the invalid one. */
    const expectRefusal = async (url: string, status: number, code: string, through = gateway) => {
      const response = await ask([pixel, url, pixel], through)
      const error = await expectError(response, { status, code, param: param(1) })
      return error.message
    }

    const isEdit = face === 'of an edit'
    for (const one of isEdit ? [...wrong, wrongAndLarge] : wrong) {
      const { name, bytes, status = 400, says = /./ } = one
      const code = status === 413 ? 'request_too_large' : 'invalid_value'
      it(`${face} are refused with their parameter: ${name}, as a data URL`, async () => {
        expect(await expectRefusal(dataUrl(bytes), status, code)).to.match(says)
      })

      it(`${face} are refused with their parameter: ${name}, by URL`, async () => {
        host.serve('/a.png', (response) => {
          response.writeHead(200, { 'content-type': 'image/png' }).end(bytes)
        })
        expect(await expectRefusal(host.address('/a.png'), status, code)).to.match(says)
      })
    }

    const noPictures = [
      { name: 'an empty data URL', url: 'data:image/png;base64,', status: 400 },
      { name: 'a data URL without base64', url: 'data:image/svg+xml,<svg/>', status: 400 },
      { name: 'base64 that is none', url: 'data:image/png;base64,§§§§§§§§', status: 400 },
      { name: 'a data URL of nothing', url: 'data:', status: 400 },
      { name: 'a file', url: 'file:///etc/passwd', status: 400 },
      { name: 'plain HTTP', url: 'http://pictures.public.example/a.png', status: 400 },
      { name: 'gopher', url: 'gopher://pictures.public.example/', status: 400 },
      { name: 'a path', url: '/etc/passwd', status: 400 },
      { name: 'nothing', url: '', status: 400 },
    ]
    for (const { name, url, status } of noPictures) {
      it(`${face} are refused with their parameter: ${name}`, () =>
        expectRefusal(url, status, 'invalid_value'))
    }

    const inside = [
      (port: number) => `https://127.0.0.1:${port}/`,
      (port: number) => `https://0x7f.1:${port}/`,
      (port: number) => `https://[::ffff:127.0.0.1]:${port}/`,
      (port: number) => `https://localhost:${port}/`,
      (port: number) => `https://inside.public.example:${port}/`,
      (port: number) => `https://both.public.example:${port}/`,
      (port: number) => `https://pictures.public.example:${port}/redirect`,
    ]
    it(`${face} are not fetched from private addresses`, async () => {
      for (const address of inside) {
        host.resolve('inside.public.example', ['127.0.0.1'])
        host.resolve('both.public.example', ['127.0.0.2', '127.0.0.1'])
        host.serve('/redirect', (response) => {
          response.writeHead(302, { location: `https://127.0.0.1:${host.port}/` }).end('Over there')
        })
        await expectRefusal(address(host.port), 400, 'invalid_value')
      }
      expect(host.insideConnections()).to.equal(0)
    })

    const hosts: Host[] = [
      {
        name: 'has none',
        status: 400,
        code: 'image_fetch_failed',
        serve: () => host.serve('/a', (response) => response.writeHead(404).end('None')),
      },
      {
        name: 'says nothing',
        status: 400,
        code: 'image_fetch_failed',
        serve: () => host.serve('/a', () => undefined),
      },
      {
        name: 'never ends',
        status: 413,
        code: 'request_too_large',
        // A busy machine takes more than the short limits to receive the largest picture.
        isPatient: true,
        serve: () =>
          host.serve('/a', (response) => {
            const more = () => {
              while (!response.destroyed && response.write(Buffer.alloc(65_536)));
            }
            response.on('drain', more)
            more()
          }),
      },
    ]
    for (const { name, status, code, isPatient = false, serve } of hosts) {
      it(`${face} are refused in time when their host ${name}`, async () => {
        serve()
        const startedAt = performance.now()
        await expectRefusal(host.address('/a'), status, code, isPatient ? gateway : impatient)
        expect(performance.now() - startedAt).to.be.lessThan(isPatient ? 20_000 : 3000)
      })
    }

    it(`${face} are accepted as data URLs and by URL, in their order`, async () => {
      host.serve('/a.jpg', photo)
      // Each API uses another picture, because edits and chats of the same picture share the cache.
      const ours = face === 'of a chat' ? pixel : dataUrl(picture)
      const urls = [ours, host.address('/a.jpg'), dataUrl(webp, 'image/x-anything')]
      const first = await ask(urls)
      expect(first.status, await first.clone().text()).to.equal(200)
      const again = await ask([
        ours.replace('image/png', 'IMAGE/PNG'),
        dataUrl(photo, 'image/jpeg'),
        dataUrl(webp, 'image/webp'),
      ])
      expect(again.headers.get('x-gateway-cache')).to.equal('hit')
      const turned = await ask(urls.toReversed())
      expect(turned.headers.get('x-gateway-cache')).to.equal('miss')
    })

    it(`${face} may be at most 16`, async () => {
      const response = await ask(Array.from({ length: 16 }, () => pixel))
      expect(response.status, await response.clone().text()).to.equal(200)
      const refused = await ask(Array.from({ length: 17 }, () => pixel))
      expect(refused.status).to.equal(400)
    })

    if (!isEdit) continue
    it(`${face} are refused with their parameter: 64 MiB of base64`, async () => {
      const url = `data:image/png;base64,${'A'.repeat(64 * 2 ** 20)}`
      await expectRefusal(url, 413, 'request_too_large')
    })

    it(`${face} may have at most 64 MiB in total`, async () => {
      const large = Buffer.concat([picture, Buffer.alloc(9 * 2 ** 20)])
      host.serve('/large.png', large)
      const urls = Array.from({ length: 8 }, () => host.address('/large.png'))
      const response = await ask(urls)
      const { message } = await expectError(response, { status: 413, code: 'request_too_large' })
      expect(message).to.include('in total')
    })
  }

  it('with few bytes and many pixels take little memory', async () => {
    const side = 7000
    const row = Buffer.alloc(1 + side * 3)
    const pixels = deflateSync(Buffer.concat(Array.from({ length: side }, () => row)), { level: 9 })
    const bomb = pngOf(side, pixels)
    expect(bomb.length).to.be.lessThan(200_000)
    const before = process.memoryUsage().rss
    const startedAt = performance.now()
    const images = Array.from({ length: 4 }, () => ({ image_url: dataUrl(bomb) }))
    const refused = { model: 'alibaba/qwen-image-2.0', images, prompt }
    const response = await gateway.post('/v1/images/edits', refused)
    expect(response.status).to.equal(400)
    const three = images.slice(0, 3).concat({ image_url: dataUrl(Buffer.from('x')) })
    const body = { model, images: three, prompt }
    await expectError(await gateway.post('/v1/images/edits', body), {
      status: 400,
      code: 'invalid_value',
      param: 'images[3].image_url',
    })
    expect(performance.now() - startedAt).to.be.lessThan(5000)
    expect(process.memoryUsage().rss - before).to.be.lessThan(250 * 2 ** 20)
  })
})

/** A square PNG whose compressed image data is `pixels`. */
function pngOf(side: number, pixels: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const chunk = (type: string, data: Buffer) => {
    const typed = Buffer.concat([Buffer.from(type), data])
    const frame = Buffer.alloc(8)
    frame.writeUInt32BE(data.length, 0)
    frame.writeUInt32BE(crc32(typed), 4)
    return Buffer.concat([frame.subarray(0, 4), typed, frame.subarray(4)])
  }
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
