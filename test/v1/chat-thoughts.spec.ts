import { expect } from 'chai'
import type OpenAI from 'openai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const model = 'mistral/mistral-medium-latest'
const usage = { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 }
const identity = { id: 'a1', created: 1_767_225_600, model: 'mistral-medium-latest' }
/** A content part with reasoning, as docs.mistral.ai describes. */
const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
const saying = (text: string) => ({ type: 'text', text })

describe("a model that returns its reasoning in a vendor's own format", () => {
  let upstream: Upstream
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    upstream = await startUpstream()
    gateway = await startGateway({
      variables: {
        MISTRAL_API_KEY: 'key-0123456789',
        MISTRAL_BASE_URL: upstream.url,
        GROQ_API_KEY: 'key-0123456789',
        GROQ_BASE_URL: upstream.url,
      },
      file: { limits: { cache_ttl_seconds: 0 } },
    })
    client = openAiClient(gateway, gateway.liveKey)
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  const messages = [{ role: 'user' as const, content: 'What is 1 + 1?' }]
  const request = { model, messages, reasoning_effort: 'high' as const }

  const call = { id: 'abcdefghi', type: 'function', function: { name: 'add', arguments: '{}' } }
  const answers = [
    {
      name: 'reasoning and text',
      message: {
        content: [thinking('One and '), thinking('one.'), saying('It is '), saying('2.')],
      },
      expected: { content: 'It is 2.', reasoning_content: 'One and one.' },
    },
    {
      name: 'reasoning before a tool call',
      message: { content: [thinking('Hm.')], tool_calls: [call] },
      expected: { content: null, reasoning_content: 'Hm.', tool_calls: [call] },
    },
    {
      name: 'unknown parts',
      message: { content: [{ type: 'reference', reference_ids: [1] }, null, saying('2')] },
      expected: { content: '2' },
    },
  ]
  for (const { name, message, expected } of answers) {
    it(`is understood with ${name}`, async () => {
      const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }
      upstream.answer({ body: { ...identity, choices: [choice], usage } })
      const answer = await client.chat.completions.create(request)
      expect(answer.choices[0]!.message).to.deep.equal({
        role: 'assistant',
        refusal: null,
        ...expected,
      })
      expect(answer.usage).to.include(usage)
    })
  }

  const event = (delta: object, finish: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    return `data: ${JSON.stringify({ ...identity, choices, ...(finish && { usage }) })}\n\n`
  }
  const readStream = async (asked: typeof request) => {
    const stream = await client.chat.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    })
    const deltas: object[] = []
    let finish: string | null = null
    let counted: OpenAI.CompletionUsage | null | undefined
    for await (const { choices, usage } of stream) {
      deltas.push(...choices.map(({ delta }) => delta))
      finish = choices[0]?.finish_reason ?? finish
      counted = usage ?? counted
    }
    return { deltas, finish, counted }
  }

  it('is understood as a stream', async () => {
    upstream.answer({
      pieces: [
        event({ role: 'assistant', content: '' }),
        event({ content: [thinking('One ')] }),
        event({ content: [thinking('and one.')] }).replace('"content":[', '"content": ['),
        event({ content: [saying('It is "[')] }),
        event({ content: ' 2' }),
        event({ content: '.' }, 'model_length'),
        'data: [DONE]\n\n',
      ],
    })
    const { deltas, finish, counted } = await readStream(request)
    expect(deltas).to.deep.equal([
      { role: 'assistant', content: '' },
      { reasoning_content: 'One ' },
      { reasoning_content: 'and one.' },
      { content: 'It is "[' },
      { content: ' 2' },
      { content: '.' },
    ])
    expect(finish).to.equal('length')
    expect(counted).to.include(usage)
  })

  it('is understood when the member has another name', async () => {
    const asked = { ...request, model: 'groq/gpt-oss-120b' }
    upstream.answer({
      pieces: [
        event({ role: 'assistant', content: '', reasoning: 'One ' }),
        event({ reasoning: 'and "one".' }),
        event({ content: 'It is 2.' }, 'stop'),
        'data: [DONE]\n\n',
      ],
    })
    const { deltas, finish } = await readStream(asked)
    expect(deltas).to.deep.equal([
      { role: 'assistant', content: '', reasoning_content: 'One ' },
      { reasoning_content: 'and "one".' },
      { content: 'It is 2.' },
    ])
    expect(finish).to.equal('stop')
    const message = { role: 'assistant', content: 'It is 2.', reasoning: 'One and one.' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    upstream.answer({ body: { ...identity, choices, usage } })
    const answer = await client.chat.completions.create(asked)
    expect(answer.choices[0]!.message).to.deep.equal({
      role: 'assistant',
      content: 'It is 2.',
      refusal: null,
      reasoning_content: 'One and one.',
    })
  })
})
