import { expect } from 'chai'
import OpenAI from 'openai'
import { startGateway, type TestGateway } from '../../support/gateway.ts'
import { openAiClient } from '../../support/openai-client.ts'
import { allowOnly, Refused, vendorDouble } from '../../support/spoken.ts'
import { startUpstream, type ReceivedRequest, type Upstream } from '../../support/upstream.ts'

const key = 'csk-0123456789abcdef'
const model = 'cerebras/gpt-oss-120b'
const usage = { prompt_tokens: 1_000_000, completion_tokens: 10_000, total_tokens: 1_010_000 }
const identity = { id: 'chatcmpl-292e278f', created: 1_767_225_600, model: 'gpt-oss-120b' }

/** The parameters of https://inference-docs.cerebras.ai/api-reference/chat-completions. */
const fields = [
  'model',
  'messages',
  'logprobs',
  'max_completion_tokens',
  'prediction',
  'reasoning_effort',
  'response_format',
  'seed',
  'stop',
  'stream',
  'stream_options',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'user',
]

function check({ path, headers, body }: ReceivedRequest): void {
  if (path !== '/chat/completions') throw new Refused(404, 'not_found_error', 'Not found.')
  if (headers.authorization !== `Bearer ${key}`) {
    throw new Refused(401, 'wrong_api_key', 'Wrong API Key')
  }
  allowOnly(body, fields, 'body', 'wrong_api_format')
  const { temperature = 1, reasoning_effort: effort = 'low' } = body
  if (Number(temperature) > 1.5) {
    throw new Refused(400, 'wrong_api_format', 'Input should be less than or equal to 1.5')
  }
  if (!['low', 'medium', 'high'].includes(String(effort))) {
    throw new Refused(400, 'wrong_api_format', "Input should be 'low', 'medium' or 'high'")
  }
  if (Array.isArray(body['stop']) && body['stop'].length > 3) {
    throw new Refused(400, 'wrong_api_format', 'List should have at most 3 items')
  }
  for (const message of body['messages'] as { role: string }[]) {
    const names = ['role', 'content', 'name', 'reasoning', 'tool_calls', 'tool_call_id']
    allowOnly(message, names, 'body.messages', 'wrong_api_format')
    if (!['system', 'user', 'assistant', 'tool'].includes(message.role)) {
      throw new Refused(400, 'wrong_api_format', 'Input tag does not match any of the roles')
    }
  }
}

const event = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const message = { role: 'assistant', content: 'It is 2.', reasoning: 'One and one.' }

const double = vendorDouble({
  check,
  refusal: ({ type, message }) => ({ message, type: 'invalid_request_error', code: type }),
  answer: ({ body }) =>
    (body as { stream?: boolean }).stream === true
      ? {
          pieces: [
            event({ role: 'assistant' }),
            event({ reasoning: 'One ' }),
            event({ reasoning: 'and one.' }),
            event({ content: 'It is 2.' }, 'stop'),
            `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
            'data: [DONE]\n\n',
          ],
        }
      : { body: { ...identity, choices: [{ index: 0, message, finish_reason: 'stop' }], usage } },
})

describe('Cerebras', () => {
  let upstream: Upstream
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    upstream = await startUpstream()
    upstream.answer(double)
    gateway = await startGateway({
      variables: { CEREBRAS_API_KEY: key, CEREBRAS_BASE_URL: upstream.url },
      file: { limits: { cache_ttl_seconds: 0, route_tries_max: 1 } },
    })
    client = openAiClient(gateway, gateway.liveKey)
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  const tools = [{ type: 'function' as const, function: { name: 'clock' } }]
  const messages = [
    { role: 'developer' as const, content: 'Be brief.' },
    { role: 'user' as const, content: 'What is 1 + 1?' },
  ]

  it('does not receive fields that it rejects, with a warning for each, and has prices', async () => {
    const answer = (await client.chat.completions.create({
      model,
      messages,
      frequency_penalty: 0.5,
      presence_penalty: 0.5,
      logit_bias: { 50256: -100 },
      tools,
      parallel_tool_calls: false,
      reasoning_effort: 'minimal',
      temperature: 2,
      max_tokens: 100,
    })) as OpenAI.ChatCompletion & { warnings: { param: string }[]; usage: { cost: number } }
    expect(answer.choices[0]!.message).to.deep.equal({
      role: 'assistant',
      content: 'It is 2.',
      refusal: null,
      reasoning_content: 'One and one.',
    })
    expect(answer.warnings.map(({ param }) => param)).to.have.members([
      'frequency_penalty',
      'presence_penalty',
      'logit_bias',
      'parallel_tool_calls',
      'reasoning_effort',
      'temperature',
    ])
    // The price of 1 000 000 input tokens at $0.35 and 10 000 output tokens at $0.75 a million.
    expect(answer.usage.cost).to.equal(0.3575)
  })

  it('streams its thoughts before its text', async () => {
    const stream = await client.chat.completions.create({ model, messages, stream: true })
    const deltas: object[] = []
    for await (const { choices } of stream) deltas.push(...choices.map(({ delta }) => delta))
    expect(deltas).to.deep.equal([
      { role: 'assistant' },
      { reasoning_content: 'One ' },
      { reasoning_content: 'and one.' },
      { content: 'It is 2.' },
    ])
  })

  it('accepts a conversation with its reasoning', async () => {
    const { choices } = await client.chat.completions.create({ model, messages })
    const next = { role: 'user' as const, content: 'And 2 + 2?' }
    const more = [...messages, choices[0]!.message, next]
    const answer = await client.chat.completions.create({ model, messages: more })
    expect(answer.choices[0]!.finish_reason).to.equal('stop')
  })

  it('causes an error in strict mode that names each parameter it rejects', async () => {
    const asked = { model, messages, frequency_penalty: 0.5, tools, parallel_tool_calls: false }
    const headers = { 'x-gateway-strict': 'true' }
    const error = await refusalOf(client.chat.completions.create(asked, { headers }))
    expect(error).to.include({ status: 400, code: 'unsupported_parameter' })
    expect(error.message).to.contain("'frequency_penalty'").and.to.contain("'parallel_tool_calls'")
  })

  it('is not asked for two choices', async () => {
    const error = await refusalOf(client.chat.completions.create({ model, messages, n: 2 }))
    expect(error).to.include({ status: 400, param: 'n' })
  })

  it('is quoted when it refuses', async () => {
    const asked = { model, messages, stop: ['1', '2', '3', '4'] }
    const error = await refusalOf(client.chat.completions.create(asked))
    expect(error.status).to.equal(400)
    expect(error.message).to.contain('List should have at most 3 items')
  })
})

/** The error that the client throws for a refused request. */
async function refusalOf(request: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await request.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof OpenAI.APIError) return error
  throw new Error('The request was not refused.', { cause: error })
}
