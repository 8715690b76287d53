import { expect } from 'chai'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { loadSettings } from '../support/load-settings.ts'

const keyless = { id: 'own', kind: 'openai-compatible', base_url: 'http://here', models: '*' }

const embedding = { dimensions: 3, inputs_per_call_max: 1 }

describe('an entry of the setting catalog', () => {
  let folder: TemporaryFolder
  before(() => {
    folder = makeFolder()
  })
  after(() => folder.remove())

  const complaints = (catalog: object): string[] => {
    try {
      loadSettings(folder.path, {}, { providers: [keyless], catalog })
      return []
    } catch (error) {
      return (error as Error).message.split('\n')
    }
  }

  const faults: { entry: object; says: RegExp }[] = [
    {
      entry: { 'gpt-5.4-mni': {} },
      says: /^gateway\.yaml, line \d+: catalog\.gpt-5\.4-mni: .* mean 'gpt-5\.4-mini'\?/,
    },
    {
      entry: { 'GPT-4.1': {} },
      says: /^gateway\.yaml, line \d+: catalog\.GPT-4\.1: .* mean 'gpt-4\.1'\?/,
    },
    {
      entry: { 'none/m': {} },
      says: /^gateway\.yaml, line \d+: catalog\.none\/m: this model is not in the catalog/,
    },
    {
      entry: { m: { provider: 'none', upstream_model: 'm' } },
      says: /^gateway\.yaml, line \d+: catalog\.m\.provider: 'none' is neither a vendor nor an id in providers/,
    },
    {
      entry: { 'own/m': { pricing: { input_per_million_tokens: 1 } } },
      says: /^gateway\.yaml, line \d+: catalog\.own\/m\.pricing\.output_per_million_tokens: .* Set it too/,
    },
    {
      entry: { 'own/m': { pricing: { input_per_million: 1 } } },
      says: /^gateway\.yaml, line 9: catalog\.own\/m\.pricing\.input_per_million is not a setting/,
    },
    {
      entry: { 'own/m': { pricing: { per_image: [{ usd: -1 }] } } },
      says: /^gateway\.yaml, line 10: catalog\.own\/m\.pricing\.per_image\[0\]\.usd is malformed: .*Expected: A decimal number/,
    },
    {
      entry: { 'own/m': { capabilities: { vison: true } } },
      says: /^gateway\.yaml, line \d+: catalog\.own\/m\.capabilities: unknown capability 'vison'\. Did you mean 'vision'\?/,
    },
    {
      entry: { 'own/m': { capabilities: { image_generation: true } } },
      says: /^gateway\.yaml, line \d+: catalog\.own\/m\.image: an image model needs its sizes/,
    },
    {
      entry: { 'own/m': { embedding, capabilities: { chat: true } } },
      says: /^gateway\.yaml, line \d+: catalog\.own\/m\.embedding: an embedding model makes no texts/,
    },
    { entry: { 'own/m': { context_window: 0 } }, says: /context_window must be at least 1/ },
    {
      entry: { 'own/m': { colour: 'red' } },
      says: /line 8: catalog\.own\/m\.colour is not a setting/,
    },
    {
      entry: { 'own/m': { pricing: 3 } },
      says: /line 8: catalog\.own\/m\.pricing must be a table/,
    },
    { entry: { 'own/m': 3 }, says: /line 7: catalog\.own\/m must be a table/ },
    {
      entry: { 'own/m': { successor: 'x' } },
      says: /^gateway\.yaml, line \d+: catalog\.own\/m\.successor: .* 'x'/,
    },
    {
      entry: { 'own/m': { successor: 'own/m' } },
      says: /^gateway\.yaml, line \d+: catalog\.own\/m\.successor/,
    },
    {
      entry: { 'own/m': { aliases: ['gpt-4.1'] } },
      says: /^gateway\.yaml, line \d+: catalog\.own\/m\.aliases: 'gpt-4\.1'/,
    },
    {
      entry: { 'own/m': { status: 'deprecated' } },
      says: /^gateway\.yaml, line \d+: catalog\.own\/m\.deprecated_at/,
    },
    { entry: { 'own/m': { released_at: '2026-02-30' } }, says: /'2026-02-30' is not a date/ },
    {
      entry: { 'own/m': { released_at: '2026-02-03', deactivated_at: '2026-02-01' } },
      says: /must be in this order/,
    },
    {
      entry: { 'qwen-image-plus': {}, 'alibaba/qwen-image-plus': {} },
      says: /'alibaba\/qwen-image-plus' has two entries/,
    },
  ]
  for (const { entry, says } of faults) {
    it(`is rejected: ${JSON.stringify(entry)}`, () => {
      const messages = complaints(entry)
      expect(messages).to.have.length(1)
      expect(messages[0]).to.match(says)
    })
  }

  it('may set any member of a catalog row, with prices as numbers or strings', () => {
    const entry = {
      'own/m': {
        name: 'M',
        aliases: ['m'],
        status: 'deprecated',
        deprecated_at: '2026-01-01',
        successor: 'gpt-4.1',
        context_window: 5,
        pricing: { input_per_million_tokens: 0.5, output_per_million_tokens: '1', tiers: null },
      },
      'own/vectors': { embedding, pricing: { input_per_million_tokens: 1 } },
      'gpt-4.1': { max_output_tokens: 10, price_changes: null },
    }
    expect(complaints(entry)).to.deep.equal([])
  })
})
