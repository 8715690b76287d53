import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import { vendors } from '../../src/providers/index.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { expectError } from '../support/expect-error.ts'
import {
  chatProperties,
  messageProperties,
  partProperties,
  source,
  toolProperties,
  type Probe,
} from '../support/openai-properties.ts'
import { modelOf } from '../support/route.ts'
import { prepareChat, type PreparedChat } from '../support/prepared-chat.ts'

const page = join(import.meta.dirname, '../../docs/chat-requests.md')
/** A model of each vendor, by the heading of the vendor's column. */
const columns: Readonly<Record<string, string>> = {
  'own endpoint': 'own/any',
  OpenRouter: 'openrouter/any',
  'OpenAI 4.1': 'gpt-4.1',
  'OpenAI 5.6': 'gpt-5.6-terra',
  Anthropic: 'claude-sonnet-4-6',
  Google: 'gemini-3.5-flash',
  Mistral: 'mistral/mistral-medium-latest',
  DeepSeek: 'deepseek/deepseek-v4-pro',
  Groq: 'groq/gpt-oss-120b',
  xAI: 'xai/grok-4.3',
  Alibaba: 'alibaba/qwen3.8-max',
  ByteDance: 'bytedance/seed-2-0-pro',
  'Z.AI': 'zai/glm-5.3',
  Together: 'together/any',
  Moonshot: 'moonshot/kimi-k3',
  Cerebras: 'cerebras/gpt-oss-120b',
  Perplexity: 'perplexity/any',
  Fireworks: 'fireworks/any',
  DeepInfra: 'deepinfra/any',
  NVIDIA: 'nvidia/any',
  Cloudflare: 'cloudflare/any',
  Bedrock: 'bedrock/any',
}
const groups: Readonly<Record<string, Readonly<Record<string, Probe>>>> = {
  Fields: chatProperties,
  Messages: messageProperties,
  'Content parts': partProperties,
  Tools: toolProperties,
}
const base = { messages: [{ role: 'user', content: 'Hello' }] }

type Outcome = 'sent' | 'mapped' | 'warned' | 'refused' | 'lost'

/** The handling of a property: refused, dropped with a warning, or its form in the vendor's request. */
function outcomeOf(model: string, name: string, { with: given, without = {} }: Probe): Outcome {
  const translated = prepareChat(model, { ...base, ...given })
  if (translated.problems.length > 0) return 'refused'
  const before = prepareChat(model, { ...base, ...without })
  const expected = new Set(before.warnings.map(({ param }) => param))
  if (translated.warnings.some(({ param }) => !expected.has(param))) return 'warned'
  if (JSON.stringify(translated.sent) === JSON.stringify(before.sent)) return 'lost'
  return isSent(translated, name) ? 'sent' : 'mapped'
}

/** Whether the vendor's request has the property under its own name. */
function isSent({ asked, sent }: PreparedChat, name: string): boolean {
  const names = name in asked ? [name] : ['messages', 'tools', 'tool_choice']
  return names.every((one) => isDeepStrictEqual(sent[one], asked[one]))
}

function tableOf(name: string, properties: Readonly<Record<string, Probe>>): string[][] {
  const rows = Object.entries(properties).map(([property, probe]) => [
    `\`${property}\``,
    ...Object.values(columns).map((model) => outcomeOf(model, property, probe)),
  ])
  return [[name, ...Object.keys(columns)], ...rows]
}

/** The tables of a page, without the separator lines below the headings. */
function tablesIn(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[ :|-]+$/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

describe('the table of chat requests', () => {
  const expected = Object.entries(groups).flatMap(([name, all]) => tableOf(name, all))

  it('lists the outcome of each property at each vendor', () => {
    const written = tablesIn(readFileSync(page, 'utf8'))
    for (const [at, row] of expected.entries()) {
      expect(`| ${written[at]?.join(' | ')} |`).to.equal(`| ${row.join(' | ')} |`)
    }
    expect(written.length).to.equal(expected.length)
  })

  it('has no lost property', () => {
    expect(expected.filter((row) => row.includes('lost'))).to.deep.equal([])
  })

  it('has a column for each vendor, and names its source', () => {
    const ids = new Set(Object.values(columns).map((model) => modelOf(model).row.provider))
    // Vendors with the same models have the same translation.
    const shown = new Set(vendors.flatMap(({ id, writeChat }) => (ids.has(id) ? [writeChat] : [])))
    const missing = vendors.filter(
      ({ onlyPictures, writeChat }) => !onlyPictures && !shown.has(writeChat),
    )
    expect(missing.map(({ id }) => id)).to.deep.equal([])
    const { package: name, version, date } = source
    expect(readFileSync(page, 'utf8').replaceAll('\n', ' ')).to.contain(
      `\`${name}\` ${version} (${date})`,
    )
  })

  describe('with a strict caller', () => {
    let gateway: TestGateway
    before(async () => {
      gateway = await startGateway({
        // Vendors that accept any model, once they are configured.
        variables: {
          MOONSHOT_API_KEY: 'sk-0123456789abcdef',
          OPENROUTER_API_KEY: 'sk-or-0123456789abcdef',
          TOGETHER_API_KEY: '0123456789abcdef',
          PERPLEXITY_API_KEY: 'pplx-0123456789abcdef',
          FIREWORKS_API_KEY: 'fw_0123456789abcdef',
          DEEPINFRA_API_KEY: '0123456789abcdefab',
          NVIDIA_API_KEY: 'nvapi-0123456789abcdef',
          CLOUDFLARE_API_KEY: '0123456789abcdefcd',
          CLOUDFLARE_ACCOUNT_ID: 'account',
          BEDROCK_API_KEY: '0123456789abcdefba',
          AWS_REGION: 'us-west-2',
        },
        file: { limits: { requests_per_minute: 1_000_000 } },
      })
    })
    after(() => gateway.stop())

    for (const [column, model] of Object.entries(columns)) {
      if (column === 'own endpoint') continue
      it(`names each parameter that ${column} would warn of`, async () => {
        for (const [name, probe] of Object.values(groups).flatMap((all) => Object.entries(all))) {
          if (outcomeOf(model, name, probe) !== 'warned') continue
          const asked = { ...base, ...probe.with }
          const { warnings } = prepareChat(model, asked)
          const response = await gateway.post(
            '/v1/chat/completions',
            { model, ...asked },
            { headers: { 'x-gateway-strict': 'true' } },
          )
          const error = await expectError(response, {
            status: 400,
            code: 'unsupported_parameter',
            type: 'invalid_request_error',
          })
          for (const { param } of warnings) expect(error.message, name).to.contain(`'${param}'`)
        }
      })
    }
  })
})
