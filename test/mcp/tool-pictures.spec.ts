import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { expect } from 'chai'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { callTool, connectClient, picturesOf, textOf } from '../support/mcp-client.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'

const picture = await paint({ width: 64, height: 48, format: 'png', number: 3 })
const base64 = picture.toString('base64')
const dataUrl = `data:image/png;base64,${base64}`
const editor = 'bytedance/seedream-4-5'

/** One picture in every form that clients and models send. */
const forms: [string, object][] = [
  ["OpenAI's part", { type: 'image_url', image_url: { url: dataUrl, detail: 'auto' } }],
  ["OpenAI's part with a bare address", { type: 'image_url', image_url: dataUrl }],
  ["the protocol's block", { type: 'image', data: base64, mimeType: 'image/png' }],
  ["the protocol's block without a type", { type: 'image', data: base64 }],
  ["the protocol's block with null", { type: 'image', data: base64, mimeType: null }],
  [
    "the protocol's block with another name of it",
    { type: 'image', data: base64, mimeType: 'image/x-png' },
  ],
  ['a data URL in the block', { type: 'image', data: dataUrl, mimeType: 'image/png' }],
]

describe('pictures in the arguments of the tool chat', () => {
  let house: VendorGateway
  let client: Client
  before(async () => {
    house = await startVendorGateway()
    client = await connectClient(house.gateway, house.gateway.liveKey)
  })
  after(async () => {
    await client.close()
    await house.stop()
  })

  for (const { id, model, double } of chatVendors) {
    for (const [name, part] of forms) {
      it(`reach ${id} as ${name}`, async () => {
        let sent = ''
        house.upstreams[id].answer(
          double((body) => {
            sent = JSON.stringify(body)
            return { text: ['A dot.'] }
          }),
        )
        const content = [{ type: 'text', text: 'What is it?' }, part]
        const answer = await callTool(client, 'chat', {
          model,
          messages: [{ role: 'user', content }],
        })
        expect(textOf(answer)).to.match(/^A dot\./)
        expect(sent).to.contain(base64).and.contain('image/png').and.contain('What is it?')
      })
    }

    for (const texts of [[{ type: 'text', text: 'Here it is.' }], []]) {
      it(`reach ${id} in a user message if the assistant made them${texts.length > 0 ? ' with text' : ''}`, async () => {
        let sent: unknown
        house.upstreams[id].answer(
          double((body) => {
            sent = body
            return { text: ['A dot.'] }
          }),
        )
        const messages = [
          { role: 'user', content: 'Draw' },
          { role: 'assistant', content: [...texts, { type: 'image', data: base64 }] },
          { role: 'user', content: 'What is it?' },
        ]
        const answer = await callTool(client, 'chat', { model, messages })
        expect(textOf(answer)).to.match(/^A dot\./)
        const { messages: sentMessages, contents } = sent as Record<string, object[] | undefined>
        // In each vendor's format the last message, with the role of the user, contains the picture.
        expect(JSON.stringify((sentMessages ?? contents)!.at(-1)))
          .to.contain(base64)
          .and.contain('What is it?')
        expect(JSON.stringify(sent).split(base64)).to.have.length(2)
      })
    }
  }
})

describe('pictures that a tool edits', () => {
  let vendors: ImageVendors
  let host: PublicHost
  let client: Client
  before(async () => {
    host = await startPublicHost()
    vendors = await startImageVendors({
      vendors: ['google', 'bytedance', 'openai', 'alibaba', 'zai'],
      publicNet: host.net,
    })
    client = await connectClient(vendors.gateway, vendors.gateway.liveKey)
  })
  beforeEach(() => {
    vendors.reset()
    host.reset()
  })
  after(async () => {
    await client.close()
    await vendors.stop()
    await host.stop()
  })

  const call = (name: string, args: Record<string, unknown>) => callTool(client, name, args)
  const lastCall = () => vendors.doubles.bytedance.calls.at(-1)!.body as Record<string, unknown>

  for (const [name, image] of [...forms, ['a data URL', dataUrl] as const]) {
    it(`reach the vendor from generate-image as ${name}`, async () => {
      const args = { prompt: `A hat, ${name}`, model: editor, images: [image] }
      const answer = await call('generate-image', args)
      expect(picturesOf(answer)).to.have.length(1)
      expect(lastCall()['image']).to.deep.equal(dataUrl)
    })
  }

  for (const [name, part] of forms) {
    it(`reach the vendor from chat as ${name}`, async () => {
      const content = [{ type: 'text', text: `A hat, in a chat, ${name}` }, part]
      const answer = await call('chat', { model: editor, messages: [{ role: 'user', content }] })
      expect(picturesOf(answer)).to.have.length(1)
      expect(lastCall()).to.include({ image: dataUrl, prompt: `A hat, in a chat, ${name}` })
    })
  }

  it('are edited if a model made them earlier in the conversation', async () => {
    const messages: object[] = [
      { role: 'user', content: 'Draw a boat' },
      { role: 'assistant', content: [{ type: 'image', data: base64, mimeType: 'image/png' }] },
      { role: 'user', content: 'Make the sky purple' },
    ]
    await call('chat', { model: editor, messages })
    const prompt = 'Draw a boat\n\nMake the sky purple'
    expect(lastCall()).to.include({ image: dataUrl, prompt })
    const broken = [
      { type: 'text', text: 'x' },
      { type: 'image', data: 'AAAA' },
    ]
    const refused = await call('chat', {
      model: editor,
      messages: messages.with(1, { role: 'assistant', content: broken }),
    })
    expect(textOf(refused)).to.match(/^'messages\[1\]\.content\[1\]\.data'/)
  })

  it('are fetched from a public address', async () => {
    host.serve('/a.png', picture)
    const images = [host.address('/a.png'), dataUrl]
    await call('generate-image', { prompt: 'Two of them', model: editor, images })
    expect(lastCall()['image']).to.deep.equal([dataUrl, dataUrl])
  })

  it('can be copied from a result into the next call', async () => {
    const first = await client.callTool({
      name: 'generate-image',
      arguments: { prompt: 'First', model: editor, size: '2048x2048' },
    })
    const block = (first['content'] as { type: string; data: string }[])[1]!
    await call('generate-image', { prompt: 'Second', model: editor, images: [block] })
    expect(String(lastCall()['image'])).to.contain(`base64,${block.data}`)
  })

  it('get an editing model and its default size if none is given', async () => {
    const answer = await call('generate-image', { prompt: 'A hat', images: [dataUrl] })
    expect(textOf(answer)).to.contain('1 picture by gemini-3-pro-image-preview')
    expect(textOf(answer)).to.not.contain('Note on size')
  })

  it('are refused by a model without image input', async () => {
    const args = { prompt: 'A hat', model: 'zai/cogview-4', images: [dataUrl] }
    const answer = await call('generate-image', args)
    expect(answer.isError).to.equal(true)
    expect(textOf(answer)).to.match(/takes no input images.*list-image-models shows how many/)
  })

  for (const [tool, args] of [
    ['generate-image', { prompt: 'again and again', model: 'zai/cogview-4' }],
    ['chat', { model: 'zai/cogview-4', messages: [{ role: 'user', content: 'again in a chat' }] }],
    ['generate-image-preview', { prompt: 'again' }],
  ] as const) {
    it(`${tool} ignores the cache with fresh, and caches the new picture`, async () => {
      const data = async (more: object) => {
        const answer = await call(tool, { ...args, ...more })
        return { text: textOf(answer), bytes: picturesOf(answer)[0]!.bytes.toString('base64') }
      }
      const first = await data({})
      const remembered = await data({ fresh: false })
      expect(remembered.bytes).to.equal(first.bytes)
      expect(remembered.text).to.contain('from the cache (fresh: true makes another)')
      const fresh = await data({ fresh: true })
      expect(fresh.bytes).to.not.equal(first.bytes)
      expect(fresh.text).to.not.contain('from the cache')
      expect((await data({ fresh: null })).bytes).to.equal(fresh.bytes)
    })
  }
})
