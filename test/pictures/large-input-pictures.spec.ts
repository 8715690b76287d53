import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { pixel } from '../support/pixel.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'

const mebibyte = 2 ** 20
const refused = { status: 413, code: 'request_too_large' } as const

describe('large input pictures of a chat', () => {
  let host: PublicHost
  let gateway: TestGateway
  let picture: Buffer
  before(async () => {
    host = await startPublicHost()
    const file = { limits: { request_bytes_max: 70 * mebibyte } }
    gateway = await startGateway({ publicNet: host.net, file })
    picture = await paint({ width: 64, height: 48, format: 'png', number: 3 })
  })
  beforeEach(() => host.reset())
  after(async () => {
    await gateway.stop()
    await host.stop()
  })

  const send = (urls: readonly string[]) => {
    const parts = urls.map((url) => ({ type: 'image_url', image_url: { url } }))
    const content = [{ type: 'text', text: 'A hat for everyone' }, ...parts]
    const body = { model: 'gpt-image-2', messages: [{ role: 'user', content }] }
    return gateway.post('/v1/chat/completions', body)
  }
  const longer = (more: number) => Buffer.concat([picture, Buffer.alloc(more)])
  const largest = () => `data:image/png;base64,${longer(50_000_000).toString('base64')}`
  const rows: [name: string, url: () => string][] = [
    ['more than 50 MB, as a data URL', largest],
    ['64 MiB of base64', () => `data:image/png;base64,${'A'.repeat(64 * mebibyte)}`],
    [
      'more than 50 MB, by URL',
      () => {
        host.serve('/a.png', (response) => {
          response.writeHead(200, { 'content-type': 'image/png' }).end(longer(50_000_000))
        })
        return host.address('/a.png')
      },
    ],
  ]
  for (const [name, url] of rows) {
    it(`are refused with their parameter: ${name}`, async () => {
      const param = 'messages[0].content[2].image_url.url'
      await expectError(await send([pixel, url(), pixel]), { ...refused, param })
    })
  }

  it('may have at most 64 MiB in total', async () => {
    host.serve('/large.png', longer(9 * mebibyte))
    const urls = Array.from({ length: 8 }, () => host.address('/large.png'))
    const { message } = await expectError(await send(urls), refused)
    expect(message).to.include('in total')
  })
})
