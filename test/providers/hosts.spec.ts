import { expect } from 'chai'
import type OpenAI from 'openai'
import { chunk, completion, doneEvent, textChunk, usage } from '../support/chat-answers.ts'
import { checkSent } from '../support/closed-chat/vendors.ts'
import type { Body } from '../support/closed-chat/schema.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { hello } from '../support/own-endpoint.ts'
import { startUpstream, type ScriptedAnswer, type Upstream } from '../support/upstream.ts'

/** The name of a model as callers and as the vendor know it, the key, and the path of its vendor. */
const hosts: Readonly<Record<string, { model: string; key: string; path: string; list?: object }>> =
  {
    fireworks: {
      model: 'accounts/fireworks/models/glm-5p3',
      key: 'fw_0123456789abcdef',
      path: '/inference/v1/chat/completions',
    },
    deepinfra: {
      model: 'zai-org/GLM-5.3',
      key: '0123456789abcdefab',
      path: '/v1/openai/chat/completions',
    },
    nvidia: {
      model: 'nvidia/nemotron-4-super',
      key: 'nvapi-0123456789abcdef',
      path: '/v1/chat/completions',
    },
    cloudflare: {
      model: '@cf/openai/gpt-oss-120b',
      key: '0123456789abcdefcd',
      path: '/client/v4/accounts/f037e56e/ai/v1/chat/completions',
      list: { success: true, result: [{ id: 'one', name: '@cf/openai/gpt-oss-120b' }] },
    },
    bedrock: {
      model: 'openai.gpt-oss-120b-1:0',
      key: 'ABSK0123456789abcdef',
      path: '/openai/v1/chat/completions',
    },
    perplexity: { model: 'sonar-pro', key: 'pplx-0123456789abcdef', path: '/chat/completions' },
  }
const bases: Readonly<Record<string, string>> = {
  fireworks: '/inference/v1',
  deepinfra: '/v1/openai',
  nvidia: '/v1',
  cloudflare: '/client/v4/accounts/f037e56e/ai',
  bedrock: '/openai/v1',
  perplexity: '',
}
const sources = [{ title: 'At /home/fox', url: 'https://foxes.example/a?b=1', date: null }]
const found = { citations: ['https://foxes.example/a?b=1'], search_results: sources }

describe('a host of other makers’ models', () => {
  let upstream: Upstream
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    upstream = await startUpstream()
    const variables = Object.entries(hosts).flatMap(([id, { key }]) => [
      [`${id.toUpperCase()}_API_KEY`, key],
      [`${id.toUpperCase()}_BASE_URL`, `${upstream.url}${bases[id]}`],
    ])
    gateway = await startGateway({
      variables: Object.fromEntries(variables) as Record<string, string>,
      file: { limits: { cache_ttl_seconds: 0, route_tries_max: 1 } },
      bounds: { circuitFailuresMax: 1000 },
    })
    client = openAiClient(gateway, gateway.liveKey)
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  /** Answers as the vendor, which checks the address, the key, the model and the fields. */
  const answerAs = (id: string, answer: ScriptedAnswer) =>
    upstream.answer(({ path, headers, body }) => {
      const { model, key, path: own } = hosts[id]!
      if (path !== own) return { status: 404, body: { error: { message: path } } }
      if (headers.authorization !== `Bearer ${key}`) return { status: 401, body: {} }
      expect((body as Body)['model']).to.equal(model)
      checkSent(id, body as Body)
      return answer
    })

  for (const [id, { model }] of Object.entries(hosts)) {
    const name = `${id}/${model}`

    it(`${id} answers a chat, whole and streamed`, async () => {
      answerAs(id, completion('A fox.', { usage }))
      const whole = await client.chat.completions.create({ model: name, messages: hello })
      expect(whole.choices[0]!.message.content).to.equal('A fox.')
      answerAs(id, {
        pieces: [textChunk('A '), textChunk('fox.'), chunk({ choices: [], usage }), doneEvent],
      })
      const stream = await client.chat.completions.create({
        model: name,
        messages: hello,
        stream: true,
      })
      let text = ''
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
      expect(text).to.equal('A fox.')
      const [row] = (await gateway.usage()).slice(-1)
      expect(row).to.include({ provider: id, outcome: 'ok' })
    })

    it(`${id} is quoted when it refuses, and its key is its operator’s matter`, async () => {
      const ask = () =>
        gateway.post(
          '/v1/chat/completions',
          { model: name, messages: hello },
          { key: gateway.liveKey },
        )
      upstream.answer({ status: 400, body: { error: { message: 'No foxes today.' } } })
      const refused = await expectError(await ask(), { status: 400, code: 'invalid_value' })
      expect(refused.message).to.contain('No foxes today.')
      upstream.answer({ status: 401, body: { error: { message: 'Expired key.' } } })
      await expectError(await ask(), { status: 502, code: 'provider_error' })
    })
  }

  it('hands on the sources of Perplexity as they are', async () => {
    answerAs('perplexity', {
      body: {
        id: 'one',
        model: 'sonar-pro',
        choices: [{ index: 0, message: { role: 'assistant', content: 'A fox.[1]' } }],
        usage,
        ...found,
      },
    })
    const asked = { model: 'perplexity/sonar-pro', messages: hello }
    expect(await client.chat.completions.create(asked)).to.deep.include(found)
    answerAs('perplexity', { pieces: [textChunk('A fox.[1]', { ...found, usage }), doneEvent] })
    const stream = await client.chat.completions.create({ ...asked, stream: true })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const one of stream) chunks.push(one)
    expect(chunks.find(({ choices }) => choices[0]?.delta.content)).to.deep.include(found)
  })

  it('has the account in the address of Cloudflare, whose list has its own form', async () => {
    upstream.answer(({ path }) =>
      path.startsWith('/client/v4/accounts/f037e56e/ai/models/search?')
        ? { body: hosts['cloudflare']!.list! }
        : completion('A fox.', { usage }),
    )
    const answer = await client.chat.completions.create({
      model: '@cf/openai/gpt-oss-120b',
      messages: hello,
    })
    expect(answer.choices[0]!.message.content).to.equal('A fox.')
    const [row] = (await gateway.usage()).slice(-1)
    expect(row).to.include({ provider: 'cloudflare' })
  })
})
