import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runProgram } from '../support/program.ts'

type Cost = Record<string, unknown>

/** A provider in the format of `api.json` of models.dev. */
function provider(id: string, costs: Record<string, Cost | undefined>): object {
  const models = Object.entries(costs).map(([name, cost]) => [
    name,
    {
      id: name,
      name: name.toUpperCase(),
      attachment: false,
      reasoning: true,
      tool_call: true,
      temperature: true,
      release_date: '2025-01-25',
      last_updated: '2025-09-11',
      modalities: { input: ['text'], output: ['text'] },
      open_weights: false,
      limit: { context: 1_000_000, output: 32_768 },
      ...(cost === undefined ? {} : { cost }),
    },
  ])
  const doc = 'https://www.alibabacloud.com/help/en/model-studio/models'
  const about = { id, env: ['API_KEY'], npm: '@ai-sdk/openai-compatible', name: id, doc }
  return { ...about, api: 'https://example.com/v1', models: Object.fromEntries(models) }
}

const tier = (size: number, cost: Cost) => ({ ...cost, tier: { type: 'context', size } })
const qwenPlus = {
  input: 0.4,
  output: 1.2,
  reasoning: 4,
  cache_read: 0.08,
  cache_write: 0.5,
  tiers: [
    tier(256_000, { input: 1.2, output: 3.6, reasoning: 12, cache_read: 0.24, cache_write: 1.5 }),
  ],
}
const geminiPro = {
  input: 2,
  output: 12,
  cache_read: 0.2,
  context_over_200k: { input: 4, output: 18, cache_read: 0.4 },
}

describe('npm run compare-prices', () => {
  let folder: TemporaryFolder
  beforeEach(() => {
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  const compare = (...args: string[]) =>
    runProgram('scripts/compare-prices.ts', args, { folder: folder.path })
  const compareWith = (list: unknown) => {
    const path = join(folder.path, 'api.json')
    writeFileSync(path, typeof list === 'string' ? list : JSON.stringify(list))
    return compare(path)
  }

  it('exits with 0 if all prices are equal', async () => {
    const { code, stdout, stderr } = await compareWith({
      alibaba: provider('alibaba', { 'qwen-plus': qwenPlus, 'qwen-flash': undefined }),
      google: provider('google', { 'gemini-3.1-pro-preview': geminiPro }),
      moonshotai: provider('moonshotai', { 'kimi-k3': { input: 3, output: 15 } }),
    })
    expect(stderr).to.equal('')
    expect(stdout).to.match(/^0 rows differ, 3 agree, \d+ are not in the list\.\n$/)
    expect(code).to.equal(0)
  })

  it('prints a line for each row that differs, cached prices and tiers included, and exits with 1', async () => {
    const { tiers: _tiers, ...flat } = qwenPlus
    const { code, stdout } = await compareWith({
      alibaba: provider('alibaba', {
        'qwen-plus': { ...qwenPlus, reasoning: 5, cache_read: 0.04 },
        'qwen-flash': { ...flat, input: 0.05, output: 0.4, reasoning: 0.4, cache_read: 0.01 },
        'qwen3-vl-plus': { input: 0.2, output: 1.6, input_audio: 0.3 },
      }),
      google: provider('google', {
        'gemini-3.1-pro-preview': {
          ...geminiPro,
          context_over_200k: { input: 4, output: 18, cache_read: 0.8 },
        },
      }),
      anthropic: provider('anthropic', {
        'claude-opus-4-6': { input: 5, output: 25, tiers: [tier(200_000, { input: 10 })] },
      }),
    })
    expect(stdout.split('\n')).to.have.members([
      'alibaba/qwen-plus: cached input 0.08, listed 0.04; output with reasoning 4, listed 5',
      'alibaba/qwen-flash: cache write 0.0625, listed 0.5; above 256000: tier not listed',
      'alibaba/qwen3-vl-plus: audio input missing, listed 0.3; above 32000: tier not listed; above 128000: tier not listed',
      'gemini-3.1-pro-preview: above 200000: cached input 0.4, listed 0.8',
      'claude-opus-4-6: above 200000: tier missing',
      stdout.split('\n').at(-2),
      '',
    ])
    expect(stdout).to.match(/\n5 rows differ, 0 agree, \d+ are not in the list\.\n$/)
    expect(code).to.equal(1)
  })

  for (const { name, list, says } of [
    { name: 'text', list: 'no JSON', says: 'is not JSON' },
    { name: 'a list', list: [], says: "is not models.dev's api.json" },
    { name: 'an object of no providers', list: { a: 1 }, says: "is not models.dev's api.json" },
    {
      name: 'a price that is not a number',
      list: { alibaba: provider('alibaba', { 'qwen-plus': { ...qwenPlus, input: '0.4' } }) },
      says: 'alibaba/qwen-plus has a price that is not a number: input',
    },
  ]) {
    it(`refuses a file with ${name}`, async () => {
      const { code, stdout, stderr } = await compareWith(list)
      expect(stderr).to.include(says).and.to.match(/\.\n$/)
      expect(stderr.split('\n')).to.have.length(2)
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
    })
  }

  it('refuses a missing file and a missing argument', async () => {
    const missing = await compare('none.json')
    expect(missing).to.include({ code: 2 })
    expect(missing.stderr).to.match(/none\.json cannot be read: .+https:\/\/models\.dev\/api\.json/)
    const none = await compare()
    expect(none).to.include({ code: 2 })
    expect(none.stderr).to.include('npm run -s compare-prices -- <api.json>')
  })
})
