import { expect } from 'chai'
import type OpenAI from 'openai'
import type Anthropic from '@anthropic-ai/sdk'
import { anthropicClient } from '../../support/anthropic-client.ts'
import { startGateway, type TestGateway } from '../../support/gateway.ts'
import { geminiDouble, geminiKey } from '../../support/gemini-upstream.ts'
import { openAiClient } from '../../support/openai-client.ts'
import type { Spoken } from '../../support/spoken.ts'
import { serviceAccount, tokenDouble } from '../../support/token-endpoint.ts'
import { startUpstream, type ReceivedRequest, type Upstream } from '../../support/upstream.ts'

const now = Date.parse('2026-11-22T12:00:00Z')
const model = 'gemini-3.5-flash'
const placeholder = 'skip_thought_signature_validator'
const question = 'How warm is it?'
const parameters = { type: 'object' as const, properties: { city: { type: 'string' } } }
const chatTool = { type: 'function' as const, function: { name: 'look', parameters } }
type Contents = { contents: { parts: { thoughtSignature?: string }[] }[] }

describe('the thought signature of a call', () => {
  let upstream: Upstream
  let tokens: Upstream
  let gateway: TestGateway
  let chat: OpenAI
  let messages: Anthropic
  /** The providers that answer; the others are overloaded. */
  let up: string[] = []

  const say = ({ contents }: Record<string, unknown>): Spoken => {
    const turns = (contents as unknown[]).length
    if (turns > 4) return { text: ['Warm.'] }
    const call = (city: string) => ({ id: `${city}${turns}`, name: 'look', args: { city } })
    return { reasoning: ['I look.'], calls: [call('Oslo'), call('Rome')], end: 'tool_calls' }
  }
  const doubles = { google: geminiDouble(say, 'google'), vertex: geminiDouble(say, 'vertex') }
  const play = (request: ReceivedRequest) => {
    const name = request.path.startsWith('/v1beta/') ? 'google' : 'vertex'
    if (!up.includes(name)) return { status: 503 }
    const path = request.path.replace(/^.*\/models\//, '/v1beta/models/')
    const headers = { ...request.headers, 'x-goog-api-key': geminiKey }
    return doubles[name]({ ...request, path, headers })
  }
  /** The signatures in the latest request, and the provider that received it. */
  const sent = () => {
    const { path, body } = upstream.requests.at(-1)!
    const parts = (body as Contents).contents.flatMap((content) => content.parts)
    const signatures = parts.flatMap(({ thoughtSignature: signature }) => signature ?? [])
    return {
      provider: path.startsWith('/v1beta/') ? 'google' : 'vertex',
      signatures: signatures.map((one) =>
        one === placeholder ? one : Buffer.from(one, 'base64').toString(),
      ),
    }
  }

  before(async () => {
    upstream = await startUpstream()
    tokens = await startUpstream()
    const address = `${tokens.url}/token`
    tokens.answer(tokenDouble(address, { next: () => 'ya29.fox-0123456789', clock: () => now }))
    gateway = await startGateway({
      clock: () => now,
      variables: {
        GEMINI_API_KEY: geminiKey,
        GEMINI_BASE_URL: upstream.url,
        VERTEX_SERVICE_ACCOUNT: serviceAccount(address),
        VERTEX_BASE_URL: `${upstream.url}/v1/projects/foxes/locations/global`,
      },
      file: {
        private_endpoint_networks: ['127.0.0.0/8'],
        routes: { [model]: ['google', 'vertex'] },
        limits: { cache_ttl_seconds: 0, route_tries_max: 1 },
      },
      bounds: { circuitFailuresMax: 1000 },
    })
    chat = openAiClient(gateway, gateway.liveKey)
    messages = anthropicClient(gateway)
  })
  beforeEach(() => upstream.answer(play))
  after(async () => {
    await gateway.stop()
    await upstream.stop()
    await tokens.stop()
  })

  /** Each runs a tool loop with the client; `next` is called before each request. */
  const loops: Record<string, (next: () => void) => Promise<string>> = {
    'chat completions': async (next) => {
      const asked: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }]
      for (;;) {
        next()
        const request = { model, messages: asked, tools: [chatTool] }
        const { message } = (await chat.chat.completions.create(request)).choices[0]!
        if (!message.tool_calls) return message.content ?? ''
        asked.push(message)
        for (const { id } of message.tool_calls)
          asked.push({ role: 'tool', tool_call_id: id, content: '20' })
      }
    },
    'chat completions as streams': async (next) => {
      const asked: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }]
      for (;;) {
        next()
        const stream = chat.chat.completions.stream({ model, messages: asked, tools: [chatTool] })
        const calls: OpenAI.ChatCompletionMessageFunctionToolCall[] = []
        for await (const { choices } of stream) {
          for (const { index: _index, ...call } of choices[0]?.delta.tool_calls ?? [])
            calls.push(call as OpenAI.ChatCompletionMessageFunctionToolCall)
        }
        if (calls.length === 0) return (await stream.finalContent()) ?? ''
        asked.push({ role: 'assistant', tool_calls: calls })
        for (const { id } of calls) asked.push({ role: 'tool', tool_call_id: id, content: '20' })
      }
    },
    responses: async (next) => {
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: question }]
      const tools = [{ type: 'function' as const, name: 'look', parameters, strict: false }]
      for (;;) {
        next()
        const include = ['reasoning.encrypted_content' as const]
        const request = { model, input, tools, include, store: false }
        const { output, output_text: text } = await chat.responses.create(request)
        const calls = output.filter((item) => item.type === 'function_call')
        if (calls.length === 0) return text
        input.push(...(output as OpenAI.Responses.ResponseInput))
        for (const { call_id: id } of calls)
          input.push({ type: 'function_call_output', call_id: id, output: '20' })
      }
    },
    messages: async (next) => {
      const asked: Anthropic.MessageParam[] = [{ role: 'user', content: question }]
      const tools = [{ name: 'look', input_schema: parameters }]
      for (;;) {
        next()
        const request = { model, max_tokens: 1000, messages: asked, tools }
        const { content } = await messages.messages.create(request)
        const calls = content.filter((block) => block.type === 'tool_use')
        if (calls.length === 0) return content.map((one) => 'text' in one && one.text).join('')
        asked.push({ role: 'assistant', content })
        const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id }) as const)
        asked.push({ role: 'user', content: results })
      }
    },
  }
  for (const [name, loop] of Object.entries(loops)) {
    for (const order of [
      ['google', 'vertex', 'google'],
      ['vertex', 'google', 'vertex'],
    ]) {
      it(`returns only to the provider that made it: ${name} at ${order.join(', ')}`, async () => {
        const asked: ReturnType<typeof sent>[] = []
        let turn = 0
        const said = await loop(() => {
          if (turn > 0) asked.push(sent())
          up = [order[turn++]!]
        })
        const [first, second, third] = [...asked, sent()]
        expect(said).to.equal('Warm.')
        expect([first, second, third].map((one) => one?.provider)).to.deep.equal(order)
        expect(first?.signatures).to.deep.equal([])
        expect(second!.signatures).to.deep.equal([placeholder])
        expect(third!.signatures).to.deep.equal([`${order[0]}-Oslo1`, placeholder])
      })
    }
  }

  const google = (signature: unknown, more: object = {}) => ({
    google: { thought_signature: signature, ...more },
  })
  const signed = Buffer.from('google-a').toString('base64')
  const cases: Record<string, { extra: object; expected: string }> = {
    'of Google itself': { extra: google(signed), expected: 'google-a' },
    'in the alphabet of URLs': { extra: google('Z29vZ2xlLWE_'), expected: 'google-a?' },
    empty: { extra: google(''), expected: placeholder },
    'cut off': { extra: google(signed.slice(0, 5)), expected: placeholder },
    'with spaces': { extra: google('no base64'), expected: placeholder },
    'that is a number': { extra: google(7), expected: placeholder },
    'of another provider': { extra: google(signed, { provider: 'vertex' }), expected: placeholder },
    'of a vendor that has none': { extra: { openai: {} }, expected: placeholder },
  }
  for (const [name, { extra, expected }] of Object.entries(cases)) {
    it(`is replaced unless Google can read it: one ${name}`, async () => {
      up = ['google']
      const called = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }
      const body = {
        model,
        tools: [chatTool],
        messages: [
          { role: 'user', content: question },
          { role: 'assistant', tool_calls: [{ ...called, extra_content: extra }] },
          { role: 'tool', tool_call_id: 'a', content: '20' },
        ],
      }
      const { status } = await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
      expect(status).to.equal(200)
      expect(sent().signatures).to.deep.equal([expected])
    })
  }
})
