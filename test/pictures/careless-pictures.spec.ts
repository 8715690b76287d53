import { expect } from 'chai'
import sharp from 'sharp'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { pixel } from '../support/pixel.ts'

const png = await paint({ width: 64, height: 48, format: 'png', number: 3 })
const jpeg = await paint({ width: 64, height: 48, format: 'jpeg', number: 3 })
const webp = await paint({ width: 64, height: 48, format: 'webp', number: 3 })
const dot = await paint({ width: 1, height: 1, format: 'png', number: 1 })
const line = await paint({ width: 400, height: 7, format: 'jpeg', number: 1 })
const gif = await sharp(png).gif().toBuffer()

const url = (bytes: Buffer | string, type = 'image/png') =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`

/** Pictures that users send by mistake, and the expected message. */
const careless: { name: string; address: string; says: RegExp }[] = [
  { name: 'a dot', address: url(dot), says: /has 1x1 pixels; each side must have at least 8/ },
  { name: 'a thin line', address: url(line, 'image/jpeg'), says: /has 400x7 pixels/ },
  {
    name: 'base64 of a PNG without a data URL prefix',
    address: png.toString('base64'),
    says: /prefix\. Send data:image\/png;base64,iVBORw0K/,
  },
  {
    name: 'base64 of a JPEG without a data URL prefix',
    address: jpeg.toString('base64'),
    says: /prefix\. Send data:image\/jpeg;base64,\/9j\//,
  },
  { name: 'plain HTTP', address: 'http://example.com/a.png', says: /Only https addresses/ },
  { name: 'a path', address: '/home/me/a.png', says: /not an https address/ },
  { name: 'an empty data URL', address: 'data:image/png;base64,', says: /is empty/ },
  {
    name: 'a data URL that is not in base64',
    address: `data:image/png,${png.toString('base64')}`,
    says: /has no ';base64,'/,
  },
  {
    name: 'a data URL with invalid characters',
    address: 'data:image/png;base64,!!!!',
    says: /not in base64/,
  },
  {
    name: 'an SVG',
    address: url('<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml'),
    says: /not a PNG/,
  },
  { name: 'a page', address: url('<!doctype html><p>no', 'text/html'), says: /not a PNG/ },
  { name: 'a PDF', address: url('%PDF-1.7 …', 'application/pdf'), says: /not a PNG/ },
  { name: 'the first bytes of a PNG', address: url(png.subarray(0, 8)), says: /broken/ },
  { name: 'half a PNG', address: url(png.subarray(0, png.length - 30)), says: /broken/ },
  { name: 'half a JPEG', address: url(jpeg.subarray(0, -20), 'image/jpeg'), says: /broken/ },
  { name: 'half a WebP', address: url(webp.subarray(0, -20), 'image/webp'), says: /broken/ },
]

describe('invalid pictures', () => {
  let gateway: TestGateway
  before(async () => (gateway = await startGateway()))
  after(() => gateway.stop())

  const chat = (model: string, address: string, headers: Record<string, string> = {}) => {
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: address } },
    ]
    const body = { model, messages: [{ role: 'user', content }] }
    return gateway.post('/v1/chat/completions', body, { headers })
  }
  const faces = [
    {
      name: 'an edit',
      ask: (address: string) => {
        const images = [{ image_url: address }]
        return gateway.post('/v1/images/edits', { model: 'gpt-image-2', images, prompt: 'a hat' })
      },
      param: 'images[0].image_url',
    },
    ...['gpt-image-2', 'gpt-5-mini', 'claude-sonnet-4-5', 'gemini-2.5-flash'].map((model) => ({
      name: `a chat with ${model}`,
      ask: (address: string) => chat(model, address),
      param: 'messages[0].content[1].image_url.url',
    })),
  ]

  for (const { name: face, ask, param } of faces) {
    for (const { name, address, says } of careless) {
      it(`are refused before money is spent: ${name}, in ${face}`, async () => {
        const refused = { status: 400, code: 'invalid_value', param }
        expect((await expectError(await ask(address), refused)).message).to.match(says)
        expect((await gateway.usage()).filter(({ outcome }) => outcome === 'ok')).to.deep.equal([])
      })
    }
  }

  const mislabelled: [string, string, Buffer][] = [
    ['image/png', 'image/jpeg', jpeg],
    ['image/jpeg', 'image/png', png],
    ['image/jpeg', 'image/webp', webp],
    ['image/png', 'image/gif', gif],
    ['text/plain', 'image/png', png],
  ]
  for (const [says, truth, bytes] of mislabelled) {
    for (const model of ['gpt-image-2', 'claude-sonnet-4-5']) {
      // Skips GIF for this model: image models do not accept GIF, whatever the media type says.
      if (truth === 'image/gif' && model === 'gpt-image-2') continue
      it(`get their true media type in a chat with ${model}: ${truth} instead of ${says}`, async () => {
        const param = 'messages[0].content[1].image_url.url'
        const response = await chat(model, url(bytes, says))
        const text = await response.text()
        expect(response.status, text).to.equal(200)
        const { warnings } = JSON.parse(text) as { warnings: { param: string; reason: string }[] }
        const warning = warnings.find((one) => one.param === param)
        expect(warning).to.deep.include({ requested: says, applied: truth })
        expect(warning!.reason).to.include(`Write data:${truth};base64,`)
        // The correct request and the wrong one must not share a cached answer.
        const right = await (await chat(model, url(bytes, truth))).json()
        expect(JSON.stringify(right)).to.not.include('The data URL says')
        const strict = await chat(model, url(bytes, says), { 'x-gateway-strict': 'true' })
        const { message } = await expectError(strict, {
          status: 400,
          code: 'unsupported_parameter',
        })
        expect(message).to.include(`'${param}'`)
      })
    }
  }

  it('are GIFs with more pixels than any picture may have', async () => {
    const large = Buffer.from(gif)
    large.writeUInt16LE(65_535, 6)
    large.writeUInt16LE(65_535, 8)
    const { message } = await expectError(
      await chat('claude-sonnet-4-5', url(large, 'image/gif')),
      {
        status: 400,
        code: 'invalid_value',
        param: 'messages[0].content[1].image_url.url',
      },
    )
    expect(message).to.contain('has 65535x65535 pixels; at most 50000000 are allowed.')
    expect((await chat('claude-sonnet-4-5', url(gif, 'image/gif'))).status).to.equal(200)
  })

  const withoutEnds: [string, Buffer, string][] = [
    ['a PNG without its last chunk', png.subarray(0, -12), 'image/png'],
    ['a PNG without its last bytes', png.subarray(0, -3), 'image/png'],
    ['a JPEG without its end marker', jpeg.subarray(0, -2), 'image/jpeg'],
    ['a JPEG without its last byte', jpeg.subarray(0, -1), 'image/jpeg'],
  ]
  for (const { name: face, ask } of faces) {
    for (const [name, bytes, type] of withoutEnds) {
      it(`are not those that lack only the end of their file: ${name}, in ${face}`, async () => {
        const response = await ask(url(bytes, type))
        expect(response.status, await response.text()).to.equal(200)
      })
    }
  }

  it('are accepted by the images API with a wrong media type', async () => {
    const images = [{ image_url: url(jpeg, 'image/png') }]
    const body = { model: 'gpt-image-2', images, prompt: 'a hat' }
    expect((await gateway.post('/v1/images/edits', body)).status).to.equal(200)
  })

  it('include those that one vendor cannot read, for its models only', async () => {
    const small = await paint({ width: 12, height: 12, format: 'png', number: 1 })
    const smaller = await paint({ width: 10, height: 40, format: 'png', number: 1 })
    const edit = (model: string, bytes: Buffer, models: string[] = []) => {
      const images = [{ image_url: pixel }, { image_url: url(bytes) }]
      return gateway.post('/v1/images/edits', { model, models, images, prompt: 'a hat' })
    }
    const seedream = 'bytedance/seedream-4-0'
    const { message } = await expectError(await edit(seedream, small), {
      status: 400,
      code: 'invalid_value',
      param: 'images[1].image_url',
    })
    expect(message).to.equal(
      `${seedream} does not accept images with a side below 15 pixels; this one is 12x12.`,
    )
    const other = await edit(seedream, small, ['gpt-image-2'])
    expect(other.headers.get('x-gateway-model')).to.equal('gpt-image-2')
    const qwen = 'alibaba/qwen3.5-plus'
    await expectError(await chat(qwen, url(smaller)), {
      status: 400,
      code: 'invalid_value',
      param: 'messages[0].content[1].image_url.url',
    })
    expect((await chat(qwen, url(small))).status).to.equal(200)
  })

  it('are refused in a form with the name of the field', async () => {
    const body = new FormData()
    body.append('image', new File([dot], 'a.png'))
    body.append('prompt', 'a hat')
    const response = await gateway.fetch('/v1/images/edits', { method: 'POST', body })
    await expectError(response, { status: 400, code: 'invalid_value', param: 'image' })
  })
})
