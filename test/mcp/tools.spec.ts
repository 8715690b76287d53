import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { expect } from 'chai'
import sharp from 'sharp'
import { tools as documented } from '../../generated/tools.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import {
  callTool,
  connectClient,
  picturesOf,
  postMessages,
  textOf,
  toolCall,
} from '../support/mcp-client.ts'

const hello = [{ role: 'user', content: 'hello' }]

describe('the tools, through the SDK of the protocol', () => {
  let gateway: TestGateway
  let client: Client
  before(async () => {
    gateway = await startGateway()
    client = await connectClient(gateway)
  })
  after(async () => {
    await client.close()
    await gateway.stop()
  })

  const call = (name: string, args: Record<string, unknown> = {}) => callTool(client, name, args)
  const lastRow = async () => (await gateway.usage()).at(-1)!

  it('are listed with titles, hints and icons, in few bytes', async () => {
    const { tools } = await client.listTools()
    expect(tools).to.deep.equal(documented)
    expect(JSON.stringify(tools).length).to.be.lessThan(12_000)
    for (const { title, annotations, icons } of tools) {
      expect(title).to.be.a('string')
      expect(Object.keys(annotations!)).to.have.members([
        'readOnlyHint',
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
      ])
      const svg = Buffer.from(icons![0]!.src.split(',')[1]!, 'base64')
      expect((await sharp(svg).metadata()).format).to.equal('svg')
    }
    const readers = tools.filter(({ annotations }) => annotations!.readOnlyHint)
    expect(readers.map(({ name }) => name)).to.deep.equal(['list-models', 'list-image-models'])
  })

  describe('chat', () => {
    it('answers with the text, then model, tokens and cost', async () => {
      const answer = await call('chat', { model: 'gpt-5-mini', messages: hello })
      expect(answer.isError).to.equal(undefined)
      expect(answer.content).to.have.length(1)
      const lines = textOf(answer).split('\n')
      expect(lines[0]).to.contain('hello')
      expect(lines.at(-2)).to.match(
        /^gpt-5-mini, \d+ input and \d+ output tokens, for \$0\.\d+ \(test key: not charged\)\.$/,
      )
      expect(lines.at(-1)).to.match(
        /^Note on model: gpt-5-mini is deprecated until [\d-]+, then \S+\.$/,
      )
    })

    it('records the call in the ledger with the face mcp', async () => {
      await call('chat', { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'ledger' }] })
      const row = await lastRow()
      expect(row).to.include({ face: 'mcp', modality: 'chat', outcome: 'ok', model: 'gpt-5-mini' })
      expect(row.output_tokens).to.be.greaterThan(0)
      expect(row.cost_nano_usd).to.be.greaterThan(0)
    })

    it('answers the same call from the cache, at no cost', async () => {
      const args = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'again' }] }
      await call('chat', args)
      expect(textOf(await call('chat', args))).to.contain('at no cost, from the cache')
      expect(await lastRow()).to.include({ cache: 'hit', cost_nano_usd: 0 })
    })

    it('stops at max_tokens and says so', async () => {
      const answer = await call('chat', { model: 'gpt-5.2', messages: hello, max_tokens: 16 })
      expect(textOf(answer)).to.contain('cut at max_tokens')
    })

    it('answers with pictures of an image model', async () => {
      const args = { model: 'zai/cogview-4', messages: hello, temperature: 0.5 }
      const answer = await call('chat', args)
      expect(picturesOf(answer)).to.have.length(1)
      expect(textOf(answer)).to.contain('1 picture by zai/cogview-4').and.contain('temperature')
      expect(await lastRow()).to.include({ face: 'mcp', modality: 'image', images: 1 })
    })
  })

  describe('generate-image', () => {
    it('uses the documented default model', async () => {
      const answer = await call('generate-image', { prompt: 'a fox' })
      expect(textOf(answer)).to.match(
        /^1 picture by alibaba\/qwen-image-plus, 1024x1024 PNG, for \$0\.03/,
      )
    })

    it('adds a note for each adjusted parameter', async () => {
      const answer = await call('generate-image', { prompt: 'a fox', size: '1024x1024' })
      expect(textOf(answer)).to.contain('Note on size: alibaba/qwen-image-plus does not make')
    })

    it('generates four pictures with the reported size and format', async () => {
      const answer = await call('generate-image', {
        prompt: 'four foxes',
        model: 'zai/glm-image',
        size: '1024x1024',
        n: 4,
      })
      const pictures = picturesOf(answer)
      expect(pictures).to.have.length(4)
      for (const { bytes, mimeType } of pictures) {
        const { width, height, format } = await sharp(bytes).metadata()
        expect([width, height, `image/${format}`]).to.deep.equal([1024, 1024, mimeType])
      }
      const distinct = new Set(pictures.map(({ bytes }) => bytes.toString('base64')))
      expect(distinct.size).to.equal(4)
      expect(await lastRow()).to.include({ images: 4, cost_nano_usd: 60_000_000, face: 'mcp' })
    })

    for (const model of [
      'gemini-3-pro-image-preview',
      'alibaba/qwen-image-max',
      'bytedance/seedream-4-5',
      'gpt-image-2',
    ]) {
      it(`makes two pictures with ${model}`, async () => {
        const answer = await call('generate-image', { prompt: 'two', model, n: 2 })
        expect(picturesOf(answer)).to.have.length(2)
      })
    }
  })

  describe('generate-image-preview', () => {
    it('makes one picture with the preview image model', async () => {
      const answer = await call('generate-image-preview', { prompt: 'a fox' })
      expect(picturesOf(answer)).to.have.length(1)
      expect(textOf(answer)).to.contain('by gemini-3-pro-image-preview')
    })

    for (const [ratio, shape] of [
      ['1:1', 1],
      ['16:9', 16 / 9],
      ['4:3', 4 / 3],
      ['5:4', 5 / 4],
    ] as const) {
      it(`makes it ${ratio}`, async () => {
        const answer = await call('generate-image-preview', { prompt: 'x', aspect_ratio: ratio })
        const { width, height } = await sharp(picturesOf(answer)[0]!.bytes).metadata()
        expect(width / height).to.be.closeTo(shape, 0.02)
      })
    }

    it('reports that a filename has no effect without an upload folder', async () => {
      const answer = await call('generate-image-preview', { prompt: 'x', filename: 'fox.png' })
      expect(textOf(answer)).to.contain('Not saved: this server has no upload folder')
    })
  })

  describe('list-models', () => {
    it('lists twenty language models by family, with their total', async () => {
      const text = textOf(await call('list-models'))
      expect(text).to.match(/^# Language Models\n\n20 of \d+ models/)
      const rows = text.split('\n').filter((line) => line.startsWith('- **'))
      expect(rows).to.have.length(20)
      expect(text).to.match(/^## \S+$/m)
      expect(text).to.match(
        /context \d+ tokens; capabilities: .*chat.*; price per 1M tokens: \$\S+ input/,
      )
      expect(text).to.not.contain('qwen-image')
    })

    it('applies the limit', async () => {
      const text = textOf(await call('list-models', { limit: 3 }))
      expect(text.match(/^- \*\*/gm)).to.have.length(3)
    })

    it('filters by family or provider', async () => {
      for (const [family, own] of [
        ['claude', /^- \*\*claude/],
        ['mistral', /^- \*\*mistral\//],
      ] as const) {
        const text = textOf(await call('list-models', { family, limit: 500 }))
        const rows = text.split('\n').filter((line) => line.startsWith('- **'))
        expect(rows).to.not.have.length(0)
        for (const row of rows) expect(row).to.match(own)
      }
    })

    it('accepts a family in any case, and a similar name', async () => {
      const rowsOf = (text: string) => text.split('\n').filter((line) => line.startsWith('- **'))
      const rows = rowsOf(textOf(await call('list-models', { family: 'claude', limit: 500 })))
      for (const family of ['Claude', ' CLAUDE ', 'claud', 'cluade']) {
        const text = textOf(await call('list-models', { family, limit: 500 }))
        expect(rowsOf(text), family).to.deep.equal(rows)
        const isReported = text.includes(
          `There is no family '${family}'; these are models of 'claude'.`,
        )
        expect(isReported, family).to.equal(family.startsWith('cl'))
      }
    })

    it('names the other families', async () => {
      const text = textOf(await call('list-models'))
      const [, listed = ''] = /^Families: (.+)\. Set 'family' to one/m.exec(text) ?? []
      const families = listed.split(', ').map((one) => /^(\S+) \((\d+)\)$/.exec(one)!)
      const [, total] = /20 of (\d+) models/.exec(text)!
      expect(families.reduce((sum, [, , count]) => sum + Number(count), 0)).to.equal(Number(total))
      const [, family, count] = families.at(-1)!
      const own = textOf(await call('list-models', { family, limit: 500 }))
      expect(own).to.contain(`All ${count} models that match.`).and.contain(`## ${family}`)
      expect(textOf(await call('list-models', { limit: 1000 }))).to.not.contain('Families:')
    })

    it('says so when nothing matches', async () => {
      const text = textOf(await call('list-models', { family: 'nobody' }))
      expect(text).to.contain('No model matches').and.contain('Families: ')
      expect(textOf(await call('list-models', { family: 'gpt-image' }))).to.contain(
        'list-image-models lists the models that make pictures',
      )
    })
  })

  describe('list-image-models', () => {
    it('has the documented form', async () => {
      const [heading, ...entries] = textOf(await call('list-image-models')).split('\n\n')
      expect(heading).to.equal('# Image Generation Models')
      expect(entries).to.not.have.length(0)
      for (const entry of entries) {
        expect(entry).to.match(
          /^## .+\n- \*\*Model ID:\*\* \S+\n- \*\*Description:\*\* .+\n- \*\*Price:\*\* (\$\d+(\.\d+)? per request.*|not known)$/,
        )
      }
    })

    it('has the amount of a request for each model with a price, typical where tokens decide', async () => {
      const text = textOf(await call('list-image-models'))
      const priceless = text.split('\n\n').filter((entry) => entry.endsWith('not known'))
      expect(priceless.map((entry) => entry.split('\n')[0])).to.deep.equal([
        '## Qwen Image 2.1 Pro',
      ])
      const amounts = [...text.matchAll(/Model ID:\*\* (\S+)\n.*\n- \*\*Price:\*\* (.*)/g)]
      const price = Object.fromEntries(amounts.map(([, id, amount]) => [id, amount]))
      expect(price['gpt-image-2.5-flare']).to.equal('$0.053 per request (typical)')
      expect(price['gpt-image-2']).to.match(/^\$0\.053 per request, up to \$0\.211 .*\(typical\)$/)
      expect(price['gemini-3.1-flash-image']).to.match(
        /^\$0\.067 per request, up to .*\(typical\)$/,
      )
      expect(text).to.not.contain('(estimated)')
    })

    it('has the documented models and prices, including the default model', async () => {
      const text = textOf(await call('list-image-models'))
      const price = (id: string) =>
        new RegExp(`\\*\\* ${id}\\n.*\\n- \\*\\*Price:\\*\\* \\$(\\S+) per request`).exec(text)?.[1]
      expect(price('alibaba/qwen-image')).to.equal('0.035')
      expect(price('alibaba/qwen-image-plus')).to.equal('0.03')
      expect(price('alibaba/qwen-image-max')).to.equal('0.075')
      expect(price('zai/cogview-4')).to.equal('0.01')
      expect(price('zai/glm-image')).to.equal('0.015')
      expect(price('bytedance/seedream-4-0')).to.equal('0.035')
      expect(price('bytedance/seedream-4-5')).to.equal('0.045')
      expect(price('gemini-3-pro-image-preview')).to.equal('0.134')
    })

    it('lists the number of input pictures, the end of a model, and a range of prices', async () => {
      const text = textOf(await call('list-image-models'))
      const entry = (id: string) => text.split('\n\n').find((one) => one.includes(`** ${id}\n`))!
      expect(entry('bytedance/seedream-4-5')).to.contain('; edits up to 14 pictures\n')
      expect(entry('gemini-3-pro-image-preview')).to.contain('14 reference images\n')
      expect(entry('zai/cogview-4')).to.not.contain('edits')
      expect(entry('gpt-image-1.5')).to.contain('; deprecated until 2026-12-01, then ')
      expect(entry('gemini-3-pro-image-preview')).to.match(
        /Price:\*\* \$0.134 per request, up to \$0.24 by size \(typical\)$/,
      )
      expect(entry('gpt-image-1.5')).to.match(/per request, up to \$\S+ by size and quality/)
      expect(entry('bytedance/seedream-5-5')).to.match(
        /per request, up to \$0.035 by size, and \$0.008 for each picture that it edits$/,
      )
    })

    it('lists only the models that a key may use', async () => {
      const key = await gateway.createKey('test', { models: ['zai/glm-image'] })
      const { answer } = await postMessages(gateway, toolCall('list-image-models'), { key })
      expect(textOf(answer.result!).match(/^## /gm)).to.have.length(1)
    })

    it('lists no models without a configured provider for a live key', async () => {
      const init = { key: gateway.liveKey }
      const { answer } = await postMessages(gateway, toolCall('list-image-models'), init)
      expect(textOf(answer.result!)).to.equal('# Image Generation Models')
    })
  })
})
