import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { expect } from 'chai'
import sharp from 'sharp'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { callTool, connectClient, picturesOf, textOf } from '../support/mcp-client.ts'

describe('the tool generate-image', () => {
  let vendors: ImageVendors
  let client: Client
  before(async () => {
    vendors = await startImageVendors({
      vendors: ['google', 'bytedance', 'openai', 'alibaba', 'zai'],
    })
    client = await connectClient(vendors.gateway, vendors.gateway.liveKey)
  })
  beforeEach(() => vendors.reset())
  after(async () => {
    await client.close()
    await vendors.stop()
  })

  const call = (name: string, args: Record<string, unknown>) => callTool(client, name, args)

  it('sends the ratio to a model that supports ratios', async () => {
    const args = { prompt: 'Wide', model: 'gemini-3-pro-image-preview', aspect_ratio: '21:9' }
    const answer = await call('generate-image', args)
    const { width, height } = await sharp(picturesOf(answer)[0]!.bytes).metadata()
    expect(width / height).to.be.closeTo(21 / 9, 0.05)
  })

  for (const [ratio, size] of [
    ['1:1', '1024x1024'],
    ['16:9', '1280x720'],
    ['9:16', '720x1280'],
    ['4:3', '1152x864'],
    ['3:2', '1248x832'],
    ['2.4:1', '1584x656'],
  ]) {
    it(`requests ${size} for ${ratio} from a model that supports pixel sizes`, async () => {
      const args = { prompt: ratio, model: 'zai/cogview-4', aspect_ratio: ratio }
      expect(textOf(await call('generate-image', args))).to.contain(`zai/cogview-4, ${size} PNG`)
    })
  }

  it('prefers a size to a ratio with a note, and uses the ratio with size auto', async () => {
    const args = { prompt: 'Both', model: 'zai/cogview-4', aspect_ratio: '16:9' }
    const both = textOf(await call('generate-image', { ...args, size: '1024x1024' }))
    expect(both).to.contain('1024x1024 PNG').and.contain('Note on aspect_ratio: The size 1024x1024')
    const auto = textOf(await call('generate-image', { ...args, size: 'auto' }))
    expect(auto).to.contain('1280x720 PNG').and.not.contain('Note on aspect_ratio')
  })

  it('names the ratios of a model when one is not supported', async () => {
    const args = { prompt: 'x', model: 'gemini-3-pro-image-preview', aspect_ratio: '7:5' }
    const answer = await call('generate-image', args)
    expect(answer.isError).to.equal(true)
    expect(textOf(answer)).to.match(/does not make the aspect ratio 7:5\. It makes: .*16:9/)
  })

  it('sends quality and format, and keeps the vendor’s format by default', async () => {
    const args = { prompt: 'Fine', model: 'gpt-image-2', quality: 'low' }
    const webp = await call('generate-image', { ...args, output_format: 'webp' })
    expect(picturesOf(webp)[0]!.mimeType).to.equal('image/webp')
    expect(vendors.doubles.openai.calls[0]!.body).to.include({
      quality: 'low',
      output_format: 'webp',
    })
    const own = await call('generate-image', { prompt: 'Own', model: 'bytedance/seedream-4-5' })
    expect(picturesOf(own)[0]!.mimeType).to.equal('image/jpeg')
  })

  it('sends a seed if the model supports it, else adds a note', async () => {
    const args = { prompt: 'Seeded', seed: 7 }
    await call('generate-image', { ...args, model: 'alibaba/qwen-image-2.0' })
    expect(JSON.stringify(vendors.doubles.alibaba.calls[0]!.body)).to.contain('"seed":7')
    const answer = await call('generate-image', { ...args, model: 'zai/cogview-4' })
    expect(textOf(answer)).to.contain('Note on seed: zai/cogview-4 has no seed setting.')
  })

  it('names the qualities of a model when one is not supported', async () => {
    const args = { prompt: 'x', model: 'zai/glm-image', quality: 'low' }
    expect(textOf(await call('generate-image', args))).to.match(/It has: hd/)
  })
})
