import { expect } from 'chai'
import OpenAI from 'openai'
import type { components } from '../../generated/types.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

type Model = components['schemas']['Model']

describe('the names of models', () => {
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    const aliases = { fast: 'gpt-5.4-mini', 'team/painter': 'qwen-image-plus', gone: 'dall-e-3' }
    gateway = await startGateway({ file: { aliases } })
    client = new OpenAI({ apiKey: gateway.testKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  })
  after(() => gateway.stop())

  const listed = async (query: Record<string, string> = {}) => {
    const found: Model[] = []
    for await (const model of client.models.list({ query })) found.push(model as Model)
    return found
  }

  // BerriAI/litellm#5524, #2837, mostlygeek/llama-swap#538: pickers offer only ids of the list.
  it('are in the list if the operator has set them, each id once', async () => {
    const models = await listed()
    const ids = models.map(({ id }) => id)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(ids.slice(-2)).to.deep.equal(['fast', 'team/painter'])
    const find = (id: string) => models.find((one) => one.id === id)!
    const model = find('gpt-5.4-mini')
    expect(model.alias_of).to.equal(null)
    expect(model.aliases).to.include('fast')
    expect(find('fast')).to.deep.equal({ ...model, id: 'fast', alias_of: 'gpt-5.4-mini' })
    expect(find('team/painter').alias_of).to.equal('alibaba/qwen-image-plus')
  })

  it('are listed after the models that a filter leaves, within its limit', async () => {
    const images = await listed({ family: 'qwen-image' })
    expect(images.map(({ id }) => id))
      .to.include('team/painter')
      .and.not.to.include('fast')
    expect(await listed({ limit: '3' })).to.have.length(3)
  })

  it('are listed only for keys that may call the model', async () => {
    const apiKey = await gateway.createKey('test', { models: ['gpt-5.4-mini'] })
    const { data } = await client.withOptions({ apiKey }).models.list()
    expect(data.map(({ id }) => id)).to.deep.equal(['gpt-5.4-mini', 'fast'])
  })

  // BerriAI/litellm#37271, ollama/ollama#10139: a name with a slash.
  const names: [name: string, id: string][] = [
    ['gpt-5.4-mini', 'gpt-5.4-mini'],
    ['GPT-5-4_mini', 'gpt-5.4-mini'],
    ['openai/gpt-5.4-mini', 'gpt-5.4-mini'],
    ['gpt-5.4-mini-2026-03-17', 'gpt-5.4-mini'],
    ['openai/gpt-5.4-mini-2026-03-17', 'gpt-5.4-mini'],
    ['qwen-image-plus', 'alibaba/qwen-image-plus'],
    ['qwen/qwen-image-plus', 'alibaba/qwen-image-plus'],
    ['models/gemini-3-pro-image-preview', 'gemini-3-pro-image-preview'],
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5'],
    ['auto', 'gemini-3-pro-image-preview'],
    ['fast', 'fast'],
    ['team/painter', 'team/painter'],
  ]
  for (const [name, id] of names) {
    it(`retrieve a model by ${name}`, async () => {
      expect((await client.models.retrieve(name)).id).to.equal(id)
      const query = new URLSearchParams({ model: name })
      const found = await gateway.fetch(`/api/models?${query.toString()}`, {
        key: gateway.adminKey,
      })
      const { data } = (await found.json()) as components['schemas']['CatalogList']
      const [one] = await listed().then((all) => all.filter((model) => model.id === id))
      expect(data.map(({ model }) => model.id)).to.deep.equal([one!.alias_of ?? id])
    })
  }
})
