import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { expect } from 'chai'
import OpenAI, { toFile } from 'openai'
import { expectError } from '../../support/expect-error.ts'
import type { ImageDouble } from '../../support/image-doubles/double.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { callTool, connectClient, picturesOf, textOf } from '../../support/mcp-client.ts'
import { openAiClient } from '../../support/openai-client.ts'
import { pixel, pixelBytes } from '../../support/pixel.ts'

const prompt = 'A red kite over dunes'
const base64 = pixelBytes.toString('base64')
const two = { input_image: base64, input_image_2: base64 }
const model = 'bfl/flux-2-max'

describe('FLUX models', () => {
  let vendors: ImageVendors
  let double: ImageDouble
  let openai: OpenAI
  let tool: Client
  before(async () => {
    vendors = await startImageVendors({ vendors: ['bfl', 'together'] })
    double = vendors.doubles.bfl
    const { gateway } = vendors
    openai = openAiClient(gateway, gateway.liveKey)
    tool = await connectClient(gateway, gateway.liveKey)
  })
  beforeEach(() => vendors.reset())
  after(async () => {
    await tool.close()
    await vendors.stop()
  })

  const wires = () => double.calls.map(({ path, body }) => [path, body])

  describe("by OpenAI's client", () => {
    it('make a picture', async () => {
      const { data } = await openai.images.generate({ model, prompt, size: '1024x1024' })
      expect(data).to.have.length(1)
      expect(wires()).to.deep.equal([['/flux-2-max', { prompt, width: 1024, height: 1024 }]])
    })

    it('edit with two references', async () => {
      const file = (name: string) => toFile(pixelBytes, name, { type: 'image/png' })
      const image = [await file('a.png'), await file('b.png')]
      expect((await openai.images.edit({ model, prompt, image })).data).to.have.length(1)
      expect(wires()).to.deep.equal([['/flux-2-max', { prompt, ...two }]])
    })

    it('refuse nine references of eight, and a mask', async () => {
      const image = await Promise.all(
        Array.from({ length: 9 }, () => toFile(pixelBytes, 'a.png', { type: 'image/png' })),
      )
      const many = await openai.images
        .edit({ model, prompt, image })
        .catch((error: unknown) => error)
      expect(many).to.be.instanceOf(OpenAI.BadRequestError).that.includes({ param: 'image' })
      const [first] = image
      const asked = { model: 'bfl/flux-pro-1.0-fill', prompt, image: first!, mask: first! }
      const masked = await openai.images.edit(asked).catch((error: unknown) => error)
      expect(masked).to.be.instanceOf(OpenAI.BadRequestError).that.includes({ param: 'mask' })
      expect((masked as Error).message).to.include('image_config.mask')
      expect(wires()).to.deep.equal([])
    })
  })

  describe('in a chat', () => {
    const chat = (body: object) => vendors.post('/v1/chat/completions', { model, ...body })
    const parts = [{ type: 'text', text: prompt }, ...Array(2).fill(imagePart())]

    it('make a picture with their own options', async () => {
      const messages = [{ role: 'user', content: prompt }]
      const image_config = { prompt_upsampling: false, steps: 20, guidance: 4, seed: 7 }
      const response = await chat({ model: 'bfl/flux-2-flex', messages, image_config })
      expect(response.status, await response.text()).to.equal(200)
      expect(wires()).to.deep.equal([['/flux-2-flex', { prompt, ...image_config }]])
    })

    it('edit with two references, in a ratio of Kontext', async () => {
      const messages = [{ role: 'user', content: parts }]
      const image_config = { aspect_ratio: '16:9', safety_tolerance: 0 }
      const response = await chat({ model: 'bfl/flux-kontext-max', messages, image_config })
      expect(response.status, await response.text()).to.equal(200)
      expect(wires()).to.deep.equal([['/flux-kontext-max', { prompt, ...two, ...image_config }]])
    })

    it('warn of an option that the model lacks, and refuse a ratio that it lacks', async () => {
      const messages = [{ role: 'user', content: prompt }]
      const response = await chat({ messages, image_config: { raw: true } })
      const { warnings } = (await response.json()) as { warnings: { param: string }[] }
      expect(warnings.map(({ param }) => param)).to.deep.equal(['image_config.raw'])
      const refused = await chat({ messages, image_config: { aspect_ratio: '16:9' } })
      const param = 'image_config.aspect_ratio'
      await expectError(refused, { status: 400, code: 'unsupported_parameter', param })
      expect(double.calls).to.have.length(1)
    })
  })

  describe('by the tool generate-image', () => {
    const generate = (args: object) =>
      callTool(tool, 'generate-image', { model, prompt, fresh: true, ...args })

    it('make a picture, and say what it cost', async () => {
      const answer = await generate({ size: '1024x1024' })
      expect(picturesOf(answer)).to.have.length(1)
      expect(textOf(answer)).to.include('for $0.07')
    })

    it('edit with two references', async () => {
      expect(picturesOf(await generate({ images: [pixel, pixel] }))).to.have.length(1)
      expect(wires()).to.deep.equal([['/flux-2-max', { prompt, ...two }]])
    })

    it('say what the moderation refused', async () => {
      double.playPolls({ body: { id: 'task', status: 'Request Moderated' } })
      const answer = await generate({})
      expect(answer.isError).to.equal(true)
      expect(textOf(answer)).to.include('refused the request before it made a picture')
    })
  })

  describe('are found', () => {
    const vendorOf = async (name: string) => {
      const response = await vendors.post('/v1/images/generations', { model: name, prompt })
      return response.headers.get('x-gateway-provider') ?? response.status
    }

    it('by their name, without the vendor and in another spelling', async () => {
      for (const name of ['bfl/flux-2-pro', 'flux-2-pro', 'FLUX.2-pro', 'bfl/FLUX.2 pro'])
        expect(await vendorOf(name), name).to.equal('bfl')
      expect(new Set(double.calls.map(({ path }) => path))).to.deep.equal(new Set(['/flux-2-pro']))
    })

    it('at hosts with the names that these give them', async () => {
      expect(await vendorOf('together/black-forest-labs/FLUX.2-pro')).to.equal('together')
      expect(await vendorOf('black-forest-labs/flux-2-pro')).to.equal(404)
    })

    it('by no name that is another path', async () => {
      for (const name of ['bfl/../credits', 'bfl/x/../../credits', 'bfl/flux-2-pro/', 'bfl/x?y=1'])
        expect(await vendorOf(name), name).to.be.oneOf([404, 'bfl'])
      for (const { path } of double.calls) expect(path).to.not.match(/\.\.|\?/)
    })
  })
})

function imagePart(): object {
  return { type: 'image_url', image_url: { url: pixel } }
}
