import { expect } from 'chai'
import type OpenAI from 'openai'
import { expectError } from '../support/expect-error.ts'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { openAiClient } from '../support/openai-client.ts'
import { pixel } from '../support/pixel.ts'
import type { Spoken } from '../support/spoken.ts'

type Messages = OpenAI.ChatCompletionMessageParam[]
type Body = Record<string, unknown>

const look: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: { name: 'look', parameters: { type: 'object', properties: {} } },
}
const calls = [
  { id: 'call_1', name: 'look', args: { where: 'left' } },
  { id: 'call_2', name: 'look', args: {} },
]
const thinking: Spoken = {
  reasoning: ['I have to ', 'look.'],
  text: ['Wait.'],
  calls,
  end: 'tool_calls',
}

describe('a continued conversation', () => {
  let house: VendorGateway
  let client: OpenAI
  before(async () => {
    // Adds a model without image input, because all three models accept images.
    house = await startVendorGateway({
      aliases: { blind: 'groq/llama-3.1-8b-instant' },
      routes: { 'groq/llama-3.1-8b-instant': ['openai/llama'] },
    })
    client = openAiClient(house.gateway, house.gateway.liveKey)
  })
  after(() => house.stop())

  const vendor = (id: string) => chatVendors.find((one) => one.id === id)!
  /** Sets the next answer of the vendor; returns an object that receives the vendor's request as `sent`. */
  const says = (id: string, spoken: Spoken): { sent: Body } => {
    const { id: name, double } = vendor(id)
    const asked: { sent: Body } = { sent: {} }
    house.upstreams[name].answer(
      double((body) => {
        asked.sent = body
        return spoken
      }),
    )
    return asked
  }
  const turn = async (request: OpenAI.ChatCompletionCreateParamsNonStreaming, stream: boolean) => {
    const answer = stream
      ? await client.chat.completions.stream({ ...request, stream: true }).finalChatCompletion()
      : await client.chat.completions.create(request)
    return { message: answer.choices[0]!.message, answer }
  }
  const withResults = (asked: Messages, message: OpenAI.ChatCompletionMessage): Messages => [
    ...asked,
    message,
    ...message.tool_calls!.map(({ id }) => {
      return { role: 'tool' as const, tool_call_id: id, content: 'Nothing.' }
    }),
  ]
  const hello: Messages = [{ role: 'user', content: 'What is there?' }]

  for (const stream of [false, true]) {
    for (const from of chatVendors) {
      for (const to of chatVendors) {
        it(`moves from ${from.id} to ${to.id} after tool calls${stream ? ', streamed' : ''}`, async () => {
          says(from.id, thinking)
          const request = { model: from.model, messages: hello, tools: [look] }
          const { message } = await turn(request, stream)
          expect(message.tool_calls).to.have.length(2)
          says(to.id, { text: ['Nothing at all.'] })
          const messages = withResults(hello, message)
          const second = await turn({ ...request, model: to.model, messages }, stream)
          expect(second.message.content).to.equal('Nothing at all.')
          expect(second.answer).not.to.have.property('warnings')
        })
      }
    }

    it(`returns to Claude its reasoning before the calls${stream ? ', streamed' : ''}`, async () => {
      says('anthropic', thinking)
      const request = {
        model: 'claude-haiku-4-5',
        messages: hello,
        tools: [look],
        reasoning_effort: 'medium' as const,
      }
      const { message } = await turn(request, stream)
      const asked = says('anthropic', { text: ['Nothing.'] })
      const messages = withResults(hello, message)
      const { answer } = await turn({ ...request, messages }, stream)
      expect(answer).not.to.have.property('warnings')
      const { thinking: mode, messages: sent } = asked.sent as {
        thinking: { type: string }
        messages: { content: object[] }[]
      }
      expect(mode.type).to.equal('enabled')
      expect(sent[1]!.content).to.deep.equal([
        { type: 'thinking', thinking: 'I have to look.', signature: 'EqQB' },
        { type: 'text', text: 'Wait.' },
        ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
      ])
    })
  }

  it('continues without reasoning of Claude, with a warning, when earlier reasoning is missing', async () => {
    says('anthropic', { text: ['Nothing.'] })
    const call = { id: 'a', type: 'function' as const, function: { name: 'look', arguments: '' } }
    const messages: Messages = [
      ...hello,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'Nothing.' },
      { role: 'user', content: 'Well?' },
    ]
    const request = { model: 'claude-haiku-4-5', messages, tools: [look] }
    const { answer } = await turn({ ...request, reasoning_effort: 'medium' }, false)
    const { warnings } = answer as unknown as { warnings: { param: string }[] }
    expect(warnings.map(({ param }) => param)).to.deep.equal(['reasoning_effort'])
  })

  for (const { id, model } of chatVendors) {
    it(`marks the cacheable prompt for ${id} if the vendor needs marks`, async () => {
      const mark = { cache_control: { type: 'ephemeral' } }
      const text = (words: string) => ({ type: 'text', text: words, ...mark })
      const asked = says(id, { text: ['Yes.'] })
      const request = {
        model,
        messages: [
          { role: 'system', content: [text('Be kind.')] },
          {
            role: 'user',
            content: [text('Look.'), { type: 'image_url', image_url: { url: pixel } }],
          },
        ],
        tools: [{ ...look, ...mark }],
        ...mark,
      } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming
      const { answer } = await turn(request, false)
      expect(answer).not.to.have.property('warnings')
      const marks =
        JSON.stringify(asked.sent).split('"cache_control":{"type":"ephemeral"}').length - 1
      expect(marks).to.equal(id === 'anthropic' ? 4 : 0)
    })
  }

  const asked = (id: string): OpenAI.ChatCompletionAssistantMessageParam => ({
    role: 'assistant',
    tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
  })
  const result = (id: string): Messages[0] => ({
    role: 'tool',
    tool_call_id: id,
    content: 'A dot.',
  })
  const oldCall: Messages[0] = {
    role: 'assistant',
    function_call: { name: 'look', arguments: '{}' },
  }
  const unsettled: { name: string; messages: Messages; params: string[] }[] = [
    {
      name: 'a call without its result',
      messages: [...hello, asked('a'), ...hello],
      params: ['messages[1].tool_calls[0]'],
    },
    {
      name: 'a deprecated function call without its result',
      messages: [...hello, oldCall, ...hello],
      params: ['messages[1].function_call'],
    },
    {
      name: 'a late result',
      messages: [...hello, asked('a'), ...hello, result('a')],
      params: ['messages[3]'],
    },
    {
      name: 'calls of adjacent messages',
      messages: [...hello, asked('a'), asked('b'), result('a'), result('b'), ...hello],
      params: ['messages[3]'],
    },
  ]
  const models = [...chatVendors.map(({ model }) => model), 'sandbox']
  for (const { name, messages, params } of unsettled) {
    for (const model of models) {
      it(`sends ${name} to ${model} with a warning, and refuses it in strict mode`, async () => {
        for (const { id } of chatVendors) says(id, { text: ['Well.'] })
        const key = model === 'sandbox' ? house.gateway.testKey : house.gateway.liveKey
        const named = model === 'sandbox' ? 'gpt-4.1' : model
        const post = (headers: Record<string, string>) =>
          house.gateway.post(
            '/v1/chat/completions',
            { model: named, messages, tools: [look] },
            { key, headers },
          )
        const response = await post({})
        const text = await response.text()
        expect(response.status, text).to.equal(200)
        const { warnings = [] } = JSON.parse(text) as { warnings?: { param: string }[] }
        const warned = warnings.map(({ param }) => param).filter((param) => param !== 'messages[2]')
        expect(warned).to.deep.equal(params)
        const refused = await post({ 'x-gateway-strict': 'true' })
        const { error } = (await refused.json()) as { error: { message: string } }
        expect(refused.status).to.equal(400)
        expect(error.message).to.contain(params[0])
      })
    }
  }

  const refused: { name: string; messages: Messages; param: string }[] = [
    {
      name: 'a call at the end',
      messages: [...hello, asked('a')],
      param: 'messages[1].tool_calls[0]',
    },
    {
      name: 'one of two calls at the end',
      messages: [
        ...hello,
        { ...asked('a'), tool_calls: [...asked('a').tool_calls!, ...asked('b').tool_calls!] },
        result('a'),
      ],
      param: 'messages[1].tool_calls[1]',
    },
    {
      name: 'a deprecated function call at the end',
      messages: [...hello, oldCall],
      param: 'messages[1].function_call',
    },
    {
      name: 'a second result',
      messages: [...hello, asked('a'), result('a'), result('a')],
      param: 'messages[3].tool_call_id',
    },
  ]
  for (const { name, messages, param } of refused) {
    it(`refuses ${name} with its parameter, with a test key too`, async () => {
      for (const key of [house.gateway.liveKey, house.gateway.testKey]) {
        const body = { model: 'gpt-4.1', messages, tools: [look] }
        const response = await house.gateway.post('/v1/chat/completions', body, { key })
        await expectError(response, { status: 400, code: 'invalid_value', param })
      }
    })
  }

  const drawn = (content: string | null) => [
    { role: 'user', content: 'Draw a dot.' },
    {
      role: 'assistant',
      content,
      images: [{ type: 'image_url', image_url: { url: pixel } }],
    },
    { role: 'user', content: 'What did you draw?' },
  ]
  for (const { id, model } of chatVendors) {
    it(`sends ${id} the picture of an image model`, async () => {
      const asked = says(id, { text: ['A dot.'] })
      for (const content of [null, 'Here it is.']) {
        const { message } = await turn({ model, messages: drawn(content) as Messages }, false)
        expect(message.content).to.equal('A dot.')
        expect(JSON.stringify(asked.sent)).to.contain(pixel.split(',')[1])
        expect(JSON.stringify(asked.sent)).not.to.contain('"images"')
      }
    })
  }

  it('drops a picture after the last user message with a warning', async () => {
    const asked = says('google', { text: ['Well.'] })
    const messages = drawn('There.').slice(0, 2) as Messages
    const { answer } = await turn({ model: 'gemini-3.5-flash', messages }, false)
    const { warnings } = answer as unknown as { warnings: { param: string }[] }
    expect(warnings.map(({ param }) => param)).to.deep.equal(['messages[1].images'])
    expect(JSON.stringify(asked.sent)).not.to.contain(pixel.split(',')[1])
  })

  it('replaces a picture by a note for a model without vision, and warns', async () => {
    const asked = says('openai', { text: ['You said so.'] })
    const messages = drawn(null) as Messages
    const { answer } = await turn({ model: 'blind', messages }, false)
    const param = 'messages[1].images'
    const reason = 'The model does not accept images.'
    expect((answer as unknown as { warnings: object[] }).warnings).to.deep.equal([
      { param, requested: '1 picture', applied: null, reason },
    ])
    expect(asked.sent['messages']).to.deep.equal([
      { role: 'user', content: 'Draw a dot.' },
      { role: 'assistant', content: '(1 picture)' },
      { role: 'user', content: 'What did you draw?' },
    ])
  })
})
