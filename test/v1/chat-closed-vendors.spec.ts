import { expect } from 'chai'
import type OpenAI from 'openai'
import { chatCases, shell } from '../support/chat-cases.ts'
import type { Body } from '../support/closed-chat/schema.ts'
import { checkSent } from '../support/closed-chat/vendors.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { openAiEvents } from '../support/openai-upstream.ts'
import { responseEvents, responseObject } from '../support/responses-upstream.ts'
import { Refused } from '../support/spoken.ts'
import { startUpstream, type ScriptedAnswer, type Upstream } from '../support/upstream.ts'

/** A model of each vendor, with the prefix of the variables for the vendor's key and URL. */
const models: Readonly<Record<string, [model: string, variable: string, key: string]>> = {
  openai: ['gpt-5.6-terra', 'OPENAI', 'sk-proj-0123456789abcdef'],
  mistral: ['mistral/mistral-medium-latest', 'MISTRAL', '0123456789abcdef0123456789abcdef'],
  deepseek: ['deepseek/deepseek-v4-pro', 'DEEPSEEK', 'sk-0123456789abcdef'],
  groq: ['groq/gpt-oss-120b', 'GROQ', 'gsk_0123456789abcdef'],
  xai: ['xai/grok-4.3', 'XAI', 'xai-0123456789abcdef'],
  alibaba: ['alibaba/qwen3.8-max', 'DASHSCOPE', 'sk-0123456789abcdee'],
  bytedance: ['bytedance/seed-2-0-pro', 'ARK', '0123456789abcdef'],
  zai: ['zai/glm-5.3', 'ZAI', '0123456789abcdef.0123456789abcdef'],
  together: ['together/any', 'TOGETHER', '0123456789abcdef'],
  moonshot: ['moonshot/kimi-k3', 'MOONSHOT', 'sk-0123456789abcdec'],
  openrouter: ['openrouter/any', 'OPENROUTER', 'sk-or-0123456789abcdef'],
  cerebras: ['cerebras/gpt-oss-120b', 'CEREBRAS', 'csk-0123456789abcdef'],
  azure: ['azure/gpt-5.6-terra', 'AZURE_OPENAI', '0123456789abcdefef'],
  perplexity: ['perplexity/any', 'PERPLEXITY', 'pplx-0123456789abcdef'],
  fireworks: ['fireworks/any', 'FIREWORKS', 'fw_0123456789abcdef'],
  deepinfra: ['deepinfra/any', 'DEEPINFRA', '0123456789abcdefab'],
  nvidia: ['nvidia/any', 'NVIDIA', 'nvapi-0123456789abcdef'],
  bedrock: ['bedrock/any', 'BEDROCK', '0123456789abcdefba'],
  cloudflare: ['cloudflare/any', 'CLOUDFLARE', '0123456789abcdefcd'],
}
/** Prefix of the error messages of the upstream. */
const late = 'Refused upstream'
const media = new Set(['audio', 'file'])
const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 }
const answerOf = (message: object, finish: string): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_767_225_600,
  model: 'any',
  choices: [{ index: 0, message, finish_reason: finish, logprobs: null }],
  usage,
})

/** Each vendor has a path on one upstream, which validates requests against the vendor's schema. */
function answer(path: string, body: Body): ScriptedAnswer {
  const [, id = ''] = path.split('/')
  try {
    checkSent(id, body)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return {
      status: 400,
      body: { error: { message: `${late}: ${error.message}`, type: error.type } },
    }
  }
  const said = { text: ['Hi'] }
  if ('input' in body) {
    if (body['stream'] === true) return { pieces: responseEvents(said, body) }
    return { body: responseObject(said, body) }
  }
  if (body['stream'] === true) return { pieces: openAiEvents(said, body) }
  return { body: answerOf({ role: 'assistant', content: 'Hi', refusal: null }, 'stop') }
}

describe("OpenAI's client with each vendor that has its protocol", () => {
  let upstream: Upstream
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    upstream = await startUpstream()
    const variables = Object.entries(models).flatMap(([id, [, name, key]]) => [
      [`${name}_API_KEY`, key],
      [`${name}_BASE_URL`, `${upstream.url}/${id}`],
    ])
    gateway = await startGateway({
      variables: Object.fromEntries(variables) as Record<string, string>,
      file: { limits: { cache_ttl_seconds: 0, route_tries_max: 1, requests_per_minute: 1e6 } },
    })
    client = openAiClient(gateway, gateway.liveKey)
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  beforeEach(() => upstream.answer(({ path, body }) => answer(path, body as Body)))

  for (const [id, [model]] of Object.entries(models)) {
    it(`${id} accepts every request that the gateway does not refuse by name before it is sent`, async () => {
      const cases = chatCases.filter(({ needs = [] }) => {
        return !model.endsWith('/any') || !needs.some((need) => media.has(need))
      })
      const wrong = await Promise.all(
        cases.map(async ({ name, request, needs = [] }) => {
          const init = { key: gateway.liveKey }
          const response = await gateway.post('/v1/chat/completions', { model, ...request }, init)
          const text = await response.text()
          if (response.status === 200 && !text.includes('event: error')) return []
          const isRight = !text.includes(late) && !text.includes('"param":null') && needs.length > 0
          return isRight ? [] : `${name}: ${text}`
        }),
      )
      expect(wrong.flat().join('\n')).to.equal('')
    })
  }

  it('gets calls of custom tools in a whole answer', async () => {
    const call = { id: 'call_1', type: 'custom', custom: { name: 'shell', input: 'ls -l' } }
    const message = { role: 'assistant', content: null, refusal: null, tool_calls: [call] }
    upstream.answer(() => ({ body: answerOf(message, 'tool_calls') }))
    const { choices } = await client.chat.completions.create({
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'List.' }],
      tools: [shell as OpenAI.ChatCompletionTool],
    })
    expect(choices[0]!.message.tool_calls).to.deep.equal([call])
    expect(choices[0]!.finish_reason).to.equal('tool_calls')
  })

  it('gets deprecated function calls in a whole answer', async () => {
    const called = { name: 'look', arguments: '{"x":1}' }
    const message = { role: 'assistant', content: null, refusal: null, function_call: called }
    upstream.answer(() => ({ body: answerOf(message, 'function_call') }))
    const { choices } = await client.chat.completions.create({
      model: 'gpt-4.1',
      messages: [{ role: 'user', content: 'Look.' }],
      functions: [{ name: 'look' }],
      function_call: { name: 'look' },
    })
    expect(choices[0]!.message.function_call).to.deep.equal(called)
    expect(choices[0]!.finish_reason).to.equal('function_call')
  })

  it('gets both in a stream', async () => {
    const chunk = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ id: 'c-1', object: 'chat.completion.chunk', created: 1, model: 'any', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
    upstream.answer(() => ({
      pieces: [
        chunk({ role: 'assistant', content: null }),
        chunk({
          tool_calls: [{ index: 0, id: 'call_1', type: 'custom', custom: { name: 'shell' } }],
        }),
        chunk({ tool_calls: [{ index: 0, custom: { input: 'ls' } }] }),
        chunk({ function_call: { name: 'look', arguments: '{}' } }),
        chunk({}, 'tool_calls'),
        'data: [DONE]\n\n',
      ],
    }))
    const stream = await client.chat.completions.create({
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'List.' }],
      tools: [shell as OpenAI.ChatCompletionTool],
      stream: true,
    })
    let text = ''
    for await (const { choices } of stream) text += JSON.stringify(choices[0]?.delta)
    expect(text).to.contain('"custom":{"name":"shell"}').and.contain('"custom":{"input":"ls"}')
    expect(text).to.contain('"function_call":{"name":"look","arguments":"{}"}')
  })
})
