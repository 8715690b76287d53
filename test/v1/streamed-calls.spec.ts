import { expect } from 'chai'
import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { anthropicClient } from '../support/anthropic-client.ts'
import { chunk, doneEvent, finishChunk, roleChunk } from '../support/chat-answers.ts'
import { openAiClient } from '../support/openai-client.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'

type Called = [name: string, args: string]
type Pieces = { name: string; deltas: object[][]; calls: Called[] }

const model = 'own/house-1'
const names = ['look', 'get', 'get_weather']
const args = '{"at":1}'
const look: Called[] = [['look', args]]
/** A piece of a call: what is said of its function, and its other members. */
const piece = (said: object, more: object = {}) => ({ index: 0, ...more, function: said })
const begun = { id: 'c1', type: 'function' }
const rest = piece({ arguments: args })

/** Calls in pieces, each list in one event, collected from servers and their bug reports. */
const streams: Pieces[] = [
  {
    name: 'whose id and name follow its first piece',
    deltas: [
      [piece({ arguments: '' }, { type: 'function' })],
      [piece({ name: 'look' }, begun)],
      [rest],
    ],
    calls: look,
  },
  {
    name: 'whose name is empty at first',
    deltas: [
      [piece({ name: '', arguments: '' }, { id: '', type: 'function' })],
      [piece({ name: 'look', arguments: '' }, begun)],
      [rest],
    ],
    calls: look,
  },
  {
    name: 'whose id comes first, and its name with the arguments',
    deltas: [[piece({ name: null }, begun)], [piece({ name: 'look', arguments: args })]],
    calls: look,
  },
  {
    name: 'whose arguments begin before its name',
    deltas: [
      [piece({ arguments: '{"at"' })],
      [piece({ name: 'look' }, begun)],
      [piece({ arguments: ':1}' })],
    ],
    calls: look,
  },
  {
    name: 'with its name in two pieces',
    deltas: [[piece({ name: 'lo', arguments: '' }, begun)], [piece({ name: 'ok' })], [rest]],
    calls: look,
  },
  {
    name: 'with its name in two pieces, of which the first is another name',
    deltas: [[piece({ name: 'get' }, begun)], [piece({ name: '_weather', arguments: args })]],
    calls: [['get_weather', args]],
  },
  {
    name: 'whose name begins another name',
    deltas: [[piece({ name: 'get', arguments: '' }, begun)], [rest]],
    calls: [['get', args]],
  },
  {
    name: 'whose name grows with each piece',
    deltas: [
      [piece({ name: 'ge' }, begun)],
      [piece({ name: 'get_w' })],
      [piece({ name: 'get_weather' })],
      [rest],
    ],
    calls: [['get_weather', args]],
  },
  {
    name: 'whose id and name are repeated in each piece',
    deltas: [
      [piece({ name: 'fly', arguments: '' }, begun)],
      [piece({ name: 'fly', arguments: '{"at"' }, begun)],
      [piece({ name: 'fly', arguments: ':1}' }, begun)],
    ],
    calls: [['fly', args]],
  },
  {
    name: 'of a tool that does not exist, without arguments',
    deltas: [[piece({ name: 'fly', arguments: '' }, begun)]],
    calls: [['fly', '{}']],
  },
  {
    name: 'whose arguments have another index',
    deltas: [
      [piece({ name: 'look', arguments: '' }, { ...begun, index: 2 })],
      [piece({ arguments: '{"at"' }, { index: 1 })],
      [piece({ arguments: ':1}' }, { index: 1 })],
    ],
    calls: look,
  },
  {
    name: 'beside an empty one',
    deltas: [
      [piece({ arguments: '' })],
      [piece({ name: 'look', arguments: args }, { index: 1, ...begun })],
    ],
    calls: look,
  },
  {
    name: 'beside another of unknown tools, begun together',
    deltas: [
      [
        piece({ name: 'fly', arguments: '' }, begun),
        piece({ name: 'fl', arguments: '' }, { index: 1, id: 'c2' }),
      ],
      [piece({ name: 'ee' }, { index: 1 })],
      [rest, piece({ arguments: '{}' }, { index: 1 })],
    ],
    calls: [
      ['fly', args],
      ['flee', '{}'],
    ],
  },
  {
    name: 'beside a second one, both without arguments',
    deltas: [
      [piece({ name: 'run', arguments: '' }, begun)],
      [piece({ name: 'fly', arguments: '' }, { index: 1, id: 'c2' })],
    ],
    calls: [
      ['run', '{}'],
      ['fly', '{}'],
    ],
  },
]

describe('a streamed tool call of an OpenAI-compatible server', () => {
  let own: OwnEndpoint
  let openai: OpenAI
  let anthropic: Anthropic
  before(async () => {
    own = await startOwnEndpoint()
    openai = openAiClient(own.gateway, own.gateway.liveKey)
    anthropic = anthropicClient(own.gateway)
  })
  after(() => own.stop())

  const parameters = { type: 'object' as const, properties: {} }
  const tools = names.map((name) => ({ type: 'function' as const, function: { name, parameters } }))
  /** The calls that each API gives, by the names that its clients know. */
  const apis: Record<string, () => Promise<Called[]>> = {
    'chat completions': async () => {
      const stream = openai.chat.completions.stream({ model, messages: hello, tools })
      const [choice] = (await stream.finalChatCompletion()).choices
      expect(choice!.finish_reason).to.equal('tool_calls')
      const { content, tool_calls: calls = [] } = choice!.message
      expect(content ?? '').to.equal('')
      expect(new Set(calls.map(({ id }) => id)).size).to.equal(calls.length)
      return calls.map((call): Called => {
        if (call.type !== 'function') throw new Error(call.type)
        return [call.function.name, call.function.arguments]
      })
    },
    'whole chat completions': async () => {
      const asked = { model, messages: hello, tools, stream: false as const }
      const { choices } = await openai.chat.completions.create(asked)
      return (choices[0]!.message.tool_calls ?? []).map((call): Called => {
        if (call.type !== 'function') throw new Error(call.type)
        return [call.function.name, call.function.arguments]
      })
    },
    responses: async () => {
      const functions = names.map((name) => ({
        type: 'function' as const,
        name,
        parameters,
        strict: false,
      }))
      const stream = openai.responses.stream({ model, input: 'hello', tools: functions })
      const { output } = await stream.finalResponse()
      return output.map((item): Called => {
        if (item.type !== 'function_call') throw new Error(item.type)
        return [item.name, item.arguments]
      })
    },
    messages: async () => {
      const named = names.map((name) => ({ name, input_schema: parameters }))
      const asked = { model, max_tokens: 99, messages: [...hello], tools: named }
      const { content } = await anthropic.messages.stream(asked).finalMessage()
      return content.map((block): Called => {
        if (block.type !== 'tool_use') throw new Error(block.type)
        return [block.name, JSON.stringify(block.input)]
      })
    },
  }

  for (const [api, read] of Object.entries(apis)) {
    for (const { name, deltas, calls } of streams) {
      it(`${name} is read through ${api}`, async () => {
        const events = deltas.map((pieces) =>
          chunk({ choices: [{ index: 0, delta: { tool_calls: pieces }, finish_reason: null }] }),
        )
        own.upstream.answer({
          pieces: [roleChunk, ...events, finishChunk('tool_calls'), doneEvent],
        })
        expect(await read()).to.deep.equal(calls)
      })
    }
  }

  it('of a tool of the request begins before its arguments arrive', async () => {
    const first = chunk({
      choices: [
        {
          index: 0,
          delta: { tool_calls: [piece({ name: 'look', arguments: '' }, begun)] },
          finish_reason: null,
        },
      ],
    })
    const held = Promise.withResolvers<void>()
    own.upstream.answer({
      pieces: (async function* () {
        yield roleChunk
        yield first
        await held.promise
        yield finishChunk('tool_calls')
      })(),
    })
    const request = { model, messages: hello, tools, stream: true as const }
    for await (const { choices } of await openai.chat.completions.create(request)) {
      const [call] = choices[0]?.delta.tool_calls ?? []
      if (call?.function?.name === 'look') held.resolve()
    }
    await held.promise
  })

  it('without a name in a whole answer is left out if it is empty, and is a failure otherwise', async () => {
    const answer = (...calls: object[]) => ({
      body: { choices: [{ message: { content: null, tool_calls: calls }, finish_reason: 'stop' }] },
    })
    const empty = { id: '', type: 'function', function: { name: '', arguments: '' } }
    own.upstream.answer(answer(empty, piece({ name: 'look', arguments: args }, begun)))
    const { choices } = await openai.chat.completions.create({ model, messages: hello, tools })
    expect(choices[0]!.message.tool_calls).to.have.length(1)
    own.upstream.answer(answer({ ...empty, function: { name: '', arguments: args } }))
    const response = await own.chat({ tools })
    expect(response.status).to.equal(502)
  })
})
