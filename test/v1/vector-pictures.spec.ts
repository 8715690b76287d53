import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { imageEventsIn } from '../support/image-events.ts'
import { endedJob, startJob } from '../support/image-jobs.ts'
import { startImageVendors, type ImagesBody, type ImageVendors } from '../support/image-vendors.ts'
import { callTool, connectClient, picturesOf, textOf } from '../support/mcp-client.ts'
import { pixel } from '../support/pixel.ts'

const model = 'recraft/recraftv4_1_vector'
const prompt = 'A logo of a seed library'
const generations = '/v1/images/generations'
const edits = '/v1/images/edits'
const chat = '/v1/chat/completions'
const messages = [{ role: 'user', content: prompt }]

/** A file that would do harm in a page. */
const hostile = `<?xml version="1.0" encoding="UTF-8"?>
<!-- made by a vendor -->
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 640.4 480" onload="alert(1)">
<script>alert(2)</script><image xlink:href="https://example.com/track.png"/>
<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="https://example.com/"/></foreignObject>
<path d="M 0 0 L 9 9"/></svg>
`
const small =
  '<svg xmlns="http://www.w3.org/2000/svg" width="8px" height="8"><path d="M0 0"/></svg>'

describe('vector pictures', () => {
  let vendors: ImageVendors
  before(async () => (vendors = await startImageVendors({ vendors: ['recraft', 'openai'] })))
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const recraft = () => vendors.doubles.recraft
  const openai = () => vendors.doubles.openai
  const playFile = (file: string | Buffer) => {
    const b64_json = Buffer.from(file).toString('base64')
    recraft().play({ body: { created: 1, credits: 80, data: [{ image_id: 'a', b64_json }] } })
  }
  const textIn = ({ data }: ImagesBody, at = 0) =>
    Buffer.from(data[at]!.b64_json, 'base64').toString()

  describe('are delivered unchanged', () => {
    it('by the images API, with the type and size of the file', async () => {
      playFile(hostile)
      const body = await vendors.images({ model, prompt, output_format: 'svg' })
      expect(textIn(body)).to.equal(hostile)
      expect(body).to.include({ output_format: 'svg', size: '640x480' })
      expect(body).to.not.have.property('warnings')
      expect(body.usage.cost).to.equal(0.08)
    })

    it('without a format, since the model makes nothing else', async () => {
      const body = await vendors.images({ model, prompt })
      expect(body).to.include({ output_format: 'svg', size: '2048x2048' })
      expect(recraft().calls[0]!.body).to.not.have.property('image_format')
    })

    it('in a ratio in place of pixels, with a warning', async () => {
      const body = await vendors.images({ model, prompt, size: '1600x900', n: 2 })
      expect(recraft().calls[0]!.body).to.include({ size: '16:9', n: 2 })
      const { param, applied, reason } = body.warnings![0]!
      expect([param, applied]).to.deep.equal(['size', '16:9'])
      expect(reason).to.match(/is not fitted to 1600x900/)
      const headers = { 'x-gateway-strict': 'true' }
      const strict = await vendors.post(generations, { model, prompt, size: '16x9' }, { headers })
      await expectError(strict, { status: 400, code: 'unsupported_parameter', param: 'size' })
    })

    it('by the chat API, whole and streamed, as a data URL of an SVG', async () => {
      for (const stream of [false, true]) {
        playFile(small)
        const response = await vendors.post(chat, { model, messages, stream })
        const base64 = Buffer.from(small).toString('base64')
        expect(await response.text()).to.contain(`"url":"data:image/svg+xml;base64,${base64}"`)
      }
    })

    it('by the tool', async () => {
      playFile(small)
      const client = await connectClient(vendors.gateway, vendors.gateway.liveKey)
      const result = await callTool(client, 'generate-image', { model, prompt, fresh: true })
      const [{ bytes, mimeType }] = picturesOf(result) as [ReturnType<typeof picturesOf>[0]]
      expect(mimeType).to.equal('image/svg+xml')
      expect(bytes.toString()).to.equal(small)
      expect(textOf(result)).to.match(/1 picture by recraft\/recraftv4_1_vector, 8x8 SVG/)
      await client.close()
    })

    it('by a stream', async () => {
      playFile(small)
      const body = { model, prompt, stream: true, partial_images: 1 }
      const [completed] = imageEventsIn(await (await vendors.post(generations, body)).text())
      expect(completed).to.include({ output_format: 'svg', size: '8x8' })
      expect(JSON.stringify(completed!.warnings)).to.contain('partial_images')
    })

    it('from the cache', async () => {
      const ask = () =>
        vendors.gateway.post(generations, { model, prompt, n: 3 }, { key: vendors.gateway.liveKey })
      const first = (await (await ask()).json()) as ImagesBody
      const hit = await ask()
      expect(hit.headers.get('x-gateway-cache')).to.equal('hit')
      const again = (await hit.json()) as ImagesBody
      expect(again).to.include({ output_format: 'svg' })
      expect(again.data).to.deep.equal(first.data)
    })

    it('by the links of a job, as a file that can do nothing', async () => {
      playFile(hostile)
      const { id } = await startJob(vendors.gateway, { model, prompt })
      const job = await endedJob(vendors.gateway, id)
      const { url, output_format } = job.result!.data[0]!
      expect(output_format).to.equal('svg')
      const { pathname, search } = new URL(url)
      const file = await vendors.gateway.fetch(pathname + search, { key: null })
      expect(await file.text()).to.equal(hostile)
      expect(file.headers.get('content-type')).to.equal('image/svg+xml')
      expect(file.headers.get('x-content-type-options')).to.equal('nosniff')
      expect(file.headers.get('content-security-policy')).to.match(
        /^default-src 'none'; .*sandbox$/,
      )
      expect(file.headers.get('content-disposition')).to.match(/\.svg"$/)
    })

    it('of test keys', async () => {
      const response = await vendors.gateway.post(generations, { model, prompt })
      const body = (await response.json()) as ImagesBody
      expect(body).to.include({ output_format: 'svg', size: '1024x1024' })
      expect(textIn(body)).to.match(/^<svg [^]+<\/svg>$/)
    })
  })

  describe('of OpenAI', () => {
    const sunburst = 'gpt-image-2.6-sunburst'
    const asked = { model: sunburst, prompt, output_format: 'svg' }

    it('are made one per call, without partial images and compression', async () => {
      const more = { n: 3, size: '1024x1536', output_compression: 40, background: 'transparent' }
      const body = await vendors.images({ ...asked, ...more })
      expect(body.data).to.have.length(3)
      const sent = { ...asked, size: '1024x1536', background: 'transparent' }
      expect(openai().calls.map((call) => call.body)).to.deep.equal([sent, sent, sent])
      expect(body.warnings!.map(({ param }) => param)).to.deep.equal(['output_compression'])
      const streamed = { ...asked, stream: true, partial_images: 2 }
      const text = await (await vendors.post(generations, streamed)).text()
      expect(text).to.contain('image_generation.completed').and.not.contain('partial_image"')
      expect(text).to.contain('with output_format svg makes no partial images')
      expect(openai().calls.at(-1)!.body).to.deep.equal(asked)
    })

    it('count the tokens of the model that writes them, at an estimated cost', async () => {
      const { usage } = await vendors.images(asked)
      expect(usage).to.include({ input_tokens: 320, output_tokens: 3000, cost_status: 'estimated' })
    })

    it('are not made of pictures, of older models, or as a part of a conversation', async () => {
      const edit = await vendors.post(edits, { ...asked, images: [{ image_url: pixel }] })
      const mismatch = { status: 400, code: 'model_capability_mismatch' } as const
      await expectError(edit, { ...mismatch, param: 'images' })
      const old = await vendors.post(generations, { ...asked, model: 'gpt-image-2' })
      await expectError(old, { ...mismatch, param: 'output_format' })
      expect(openai().calls).to.deep.equal([])
      const made = { role: 'assistant', images: [{ type: 'image_url', image_url: { url: pixel } }] }
      const talk = { model: sunburst, messages: [...messages, made, ...messages] }
      const config = { image_config: { output_format: 'svg' } }
      const response = await vendors.post(chat, { ...talk, ...config })
      const { warnings } = (await response.json()) as ImagesBody
      expect(warnings!.map(({ param }) => param)).to.deep.equal(['messages'])
      expect(openai().calls[0]!.path).to.equal('/images/generations')
    })
  })

  describe('fail as those of a vendor, and are charged,', () => {
    const entities = '<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    const files: [string, string | Buffer][] = [
      ['if the file is a PNG', Buffer.from(pixel.split(',')[1]!, 'base64')],
      ['if the file is a page', `<html>${small}</html>`],
      ['if the file is another XML', '<?xml version="1.0"?><rss></rss>'],
      ['if its end is missing', small.slice(0, -10)],
      ['if another document follows', `${small}<script>alert(1)</script>`],
      ['if it has no namespace', small.replace(/ xmlns="[^"]+"/, '')],
      ['if it has entities', entities + small],
      ['if it is not UTF-8', Buffer.from(`${small.slice(0, -6)}\u00e9</svg>`, 'latin1')],
      ['if it has more than 10 MB', small.replace('M0 0', 'M0 0'.repeat(3_000_000))],
      ['if it is packed', Buffer.from('1f8b0800000000000003', 'hex')],
      ['if comments do not end', `${'<!-- -'.repeat(9000)}${small}`],
      [
        'if attributes do not end',
        `<svg xmlns="http://www.w3.org/2000/svg" ${'a="b '.repeat(9000)}`,
      ],
    ]
    for (const [name, file] of files) {
      it(name, async () => {
        playFile(file)
        const response = await vendors.post(generations, { model, prompt })
        await expectError(response, { status: 502, code: 'provider_error' })
        const rows = await vendors.gateway.usage()
        const row = rows.find(({ id }) => id === response.headers.get('x-request-id'))
        expect(row!.cost_nano_usd).to.equal(80_000_000)
        expect(recraft().calls).to.have.length(1)
      })
    }

    it('if a model of pixels makes one', async () => {
      playFile(small)
      const response = await vendors.post(generations, { model: 'recraft/recraftv4_1', prompt })
      await expectError(response, { status: 502, code: 'provider_error' })
    })
  })

  it('are accepted with a mark of byte order, a document type, a style and one element', async () => {
    const type =
      '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">'
    const one = `<svg  viewBox = '0,0,20 10' xmlns='http://www.w3.org/2000/svg' width="100%"/>\n`
    for (const [file, size] of [
      [`\ufeff${small}`, '8x8'],
      [`${type}\n${small}\n`, '8x8'],
      [one, '20x10'],
      ['<svg xmlns="http://www.w3.org/2000/svg"></svg >', '300x150'],
    ] as const) {
      playFile(file)
      const body = await vendors.images({ model, prompt })
      expect(textIn(body)).to.equal(file)
      expect(body.size).to.equal(size)
    }
  })

  describe('are no input', () => {
    const svg = `data:image/svg+xml;base64,${Buffer.from(hostile).toString('base64')}`
    const says = /an SVG. Convert it to a PNG first/

    it('of an edit, a chat with a model of pictures, or a chat with a language model', async () => {
      const part = { type: 'image_url', image_url: { url: svg } }
      const shown = [{ role: 'user', content: [{ type: 'text', text: prompt }, part] }]
      for (const [path, body] of [
        [edits, { model: 'recraft/recraftv4_1', prompt, images: [{ image_url: svg }] }],
        [chat, { model, messages: shown }],
        [chat, { model: 'gpt-5.4-mini', messages: shown }],
      ] as const) {
        const response = await vendors.post(path, body)
        const { message } = await expectError(response, { status: 400, code: 'invalid_value' })
        expect(message).to.match(says)
      }
      const client = await connectClient(vendors.gateway, vendors.gateway.liveKey)
      const asked = { model: 'recraft/recraftv4_1', prompt, images: [svg] }
      expect(textOf(await callTool(client, 'generate-image', asked))).to.match(says)
      await client.close()
      expect(recraft().calls).to.deep.equal([])
    })

    it('of a language model as the result of a tool: a text replaces it', async () => {
      const call = { id: 'call_1', type: 'function', function: { name: 'draw', arguments: '{}' } }
      const result = [{ type: 'image_url', image_url: { url: svg } }]
      const talk = [
        ...messages,
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: result },
      ]
      const tools = [{ type: 'function', function: { name: 'draw' } }]
      const body = { model: 'gpt-5.4-mini', messages: talk, tools }
      const response = await vendors.gateway.post(chat, body)
      expect(response.status).to.equal(200)
      const { warnings } = (await response.json()) as ImagesBody
      expect(warnings![0]!.reason).to.match(says)
    })

    it('and are left out of the answers of the assistant, with a warning', async () => {
      const url = svg.replace('svg+xml', 'SVG+xml;charset=utf-8')
      const made = { role: 'assistant', images: [{ type: 'image_url', image_url: { url } }] }
      const talk = [...messages, made, { role: 'user', content: 'Now in green' }]
      const response = await vendors.post(chat, { model, messages: talk })
      const { warnings } = (await response.json()) as ImagesBody
      expect(warnings!.map(({ param }) => param)).to.deep.equal(['messages[1].images[0]'])
      expect(recraft().calls[0]!.path).to.equal('/images/generations')
    })
  })
})
