import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import type OpenAI from 'openai'
import { readChunks } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'

type Completion = OpenAI.Chat.ChatCompletion
type Message = Completion['choices'][number]['message']

const parameters = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 9 },
    days: { type: 'integer', minimum: 3, maximum: 7 },
  },
  required: ['city', 'days'],
  additionalProperties: false,
}
const weather = { type: 'function' as const, function: { name: 'get_weather', parameters } }
const clock = { type: 'function' as const, function: { name: 'get_time', parameters: {} } }

describe('the sandbox with tools', () => {
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    gateway = await startGateway()
    client = openAiClient(gateway)
  })
  after(() => gateway.stop())
  const post = (prompt: string, more: object = {}) =>
    gateway.post('/v1/chat/completions', {
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: prompt }],
      ...more,
    })
  const ask = async (prompt: string, more: object = {}) => {
    const response = await post(prompt, more)
    const body = (await response.json()) as Completion
    expect(response.status, JSON.stringify(body)).to.equal(200)
    const choice = body.choices[0]!
    return { choice, message: choice.message }
  }

  it('calls the named tool, then answers with its result, so that a tool loop ends', async () => {
    const seen: unknown[] = []
    const run = (args: unknown) => {
      seen.push(args)
      return 'sunny, 24 degrees'
    }
    for (const stream of [false, true]) {
      const tools = [
        clock,
        { ...weather, function: { ...weather.function, function: run, parse: JSON.parse } },
      ]
      const runner = client.chat.completions.runTools({
        model: 'gpt-4o-mini',
        stream,
        messages: [{ role: 'user', content: 'sandbox:tool-call=get_weather in Lisbon?' }],
        tools,
        // The client has separate overloads for streams.
      } as Parameters<typeof client.chat.completions.runTools>[0])
      const answer = await runner.finalContent()
      expect(answer).to.include('The tool get_weather answered: “sunny, 24 degrees”')
    }
    expect(seen).to.have.length(2)
    for (const args of seen) expect(new Ajv2020().validate(parameters, args)).to.equal(true)
  })

  it('streams a call in pieces, its name first', async () => {
    const response = await post('sandbox:tool-call', { tools: [weather], stream: true })
    const deltas = readChunks(await response.text()).flatMap(({ choices }) => choices)
    type Delta = {
      tool_calls?: { id?: string; function: { name?: string; arguments: string } }[]
    }
    const calls = deltas.flatMap(({ delta }) => (delta as Delta).tool_calls ?? [])
    expect(calls.length).to.be.greaterThan(3)
    expect(calls[0]).to.deep.include({ function: { name: 'get_weather', arguments: '' } })
    expect(calls.slice(1).every(({ id }) => id === undefined)).to.equal(true)
    const written = calls.map((call) => call.function.arguments).join('')
    expect(new Ajv2020().validate(parameters, JSON.parse(written))).to.equal(true)
    expect(deltas.at(-1)).to.deep.include({ finish_reason: 'tool_calls' })
  })

  it('calls several at once, unless parallel calls are disabled', async () => {
    const prompt = 'sandbox:tool-call=get_time sandbox:tool-call=get_weather'
    const tools = [weather, clock]
    const names = ({ tool_calls: calls = [] }: Message) =>
      calls.map((call) => (call.type === 'function' ? call.function.name : ''))
    const both = await ask(prompt, { tools })
    expect(names(both.message)).to.deep.equal(['get_time', 'get_weather'])
    expect(new Set(both.message.tool_calls!.map(({ id }) => id)).size).to.equal(2)
    const one = await ask(prompt, { tools, parallel_tool_calls: false })
    expect(names(one.message)).to.deep.equal(['get_time'])
  })

  it('answers in the requested schema, which the client parses', async () => {
    const { choices } = await client.chat.completions.parse({
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'Where, and how long?' }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'journey', schema: parameters, strict: true },
      },
    })
    expect(new Ajv2020().validate(parameters, JSON.parse(choices[0]!.message.content!))).to.equal(
      true,
    )
  })

  it('answers with text when a tool call is optional', async () => {
    const { choice, message } = await ask('hello', { tools: [weather], tool_choice: 'auto' })
    expect(choice.finish_reason).to.equal('stop')
    expect(message.content).to.include('“hello”')
  })

  it('truncates the arguments of a call at the token limit', async () => {
    const { choice } = await ask('sandbox:tool-call', { tools: [weather], max_tokens: 3 })
    expect(choice.finish_reason).to.equal('length')
  })

  it('calls a custom tool with text, whole and streamed', async () => {
    const tools = [{ type: 'custom', custom: { name: 'shell' } }]
    const more = { model: 'gpt-5', tools, tool_choice: 'required' }
    const { message, choice } = await ask('list my files', more)
    expect(choice.finish_reason).to.equal('tool_calls')
    const [call] = message.tool_calls ?? []
    const input = call?.type === 'custom' ? call.custom.input : ''
    expect(call).to.deep.include({ type: 'custom', custom: { name: 'shell', input } })
    expect(input).to.be.a('string').that.is.not.empty
    const streamed = readChunks(await (await post('list', { ...more, stream: true })).text())
    type Delta = { tool_calls?: { custom: { input: string } }[] }
    const pieces = streamed.flatMap(({ choices }) =>
      choices.flatMap(({ delta }) => (delta as Delta).tool_calls ?? []),
    )
    expect(pieces.map((one) => one.custom.input).join('')).to.equal(input)
  })

  it('calls only an allowed tool', async () => {
    for (const model of ['gpt-4o-mini', 'mistral/mistral-large-4']) {
      const allowed = [{ type: 'function', function: { name: 'get_time' } }]
      const { message } = await ask('hello', {
        model,
        tools: [weather, clock],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: allowed },
        },
      })
      const [call] = message.tool_calls ?? []
      expect(call?.type === 'function' && call.function.name).to.equal('get_time')
    }
  })

  it('calls a function of the deprecated API as the vendor would', async () => {
    const functions = [weather.function]
    const { choice, message } = await ask('hello', {
      functions,
      function_call: { name: 'get_weather' },
    })
    expect(choice.finish_reason).to.equal('function_call')
    const { name, arguments: written } = message.function_call!
    expect(name).to.equal('get_weather')
    expect(new Ajv2020().validate(parameters, JSON.parse(written))).to.equal(true)
    for (const [content, quoted] of [
      ['sunny', '“sunny”'],
      [null, '“”'],
    ] as const) {
      const after = await client.chat.completions.create({
        model: 'gpt-4o-mini',
        messages: [
          { role: 'user', content: 'sandbox:tool-call' },
          { role: 'assistant', content: null, function_call: { name, arguments: written } },
          { role: 'function', name, content },
        ],
        functions,
      })
      expect(after.choices[0]!.message.content).to.include(quoted)
    }
  })

  for (const [reason, more, expected] of [
    ['the request has none', {}, "needs 'tools'"],
    ['it names an unknown one', { tools: [clock] }, 'It offers: get_time.'],
    ['tool_choice is none', { tools: [weather], tool_choice: 'none' }, "tool_choice is 'none'"],
  ] as const) {
    it(`reports that it cannot call a tool when ${reason}`, async () => {
      const response = await post('sandbox:tool-call=get_weather', more)
      const { message } = await expectError(response, { status: 400, code: 'invalid_value' })
      expect(message).to.include(expected)
    })
  }
})
