import type Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { anthropicClient } from '../support/anthropic-client.ts'
import {
  completion,
  doneEvent,
  finishChunk,
  streamed,
  textChunk,
  usageChunk,
} from '../support/chat-answers.ts'
import { readEvents } from '../support/event-stream.ts'
import { orderComplaints, readMessageEvents } from '../support/message-events.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'

const request: Anthropic.MessageCreateParamsNonStreaming = {
  model: 'own/house-1',
  max_tokens: 100,
  tools: [{ name: 'weather', input_schema: { type: 'object' } }],
  messages: [{ role: 'user', content: 'How warm is it?' }],
}

describe('a streamed message', () => {
  let own: OwnEndpoint
  let client: Anthropic
  before(async () => {
    own = await startOwnEndpoint({ limits: { ping_interval_ms: 100 } })
    client = anthropicClient(own.gateway)
  })
  after(() => own.stop())

  const event = (delta: object) => {
    const choices = [{ index: 0, delta, finish_reason: null }]
    const identity = { id: 'a1', object: 'chat.completion.chunk', created: 1, model: 'house-1' }
    return `data: ${JSON.stringify({ ...identity, choices })}\n\n`
  }
  const call = (index: number, args: string, more: object = {}) =>
    event({ tool_calls: [{ index, ...more, function: { name: 'weather', arguments: args } }] })
  const opened = (index: number, args: string) =>
    call(index, args, { id: `call_${index}`, type: 'function' })
  const finalOf = (...events: string[]) => {
    const pieces = [...events, finishChunk(), usageChunk(), doneEvent]
    own.upstream.answer({ pieces })
    return client.messages.stream({ ...request, thinking: { type: 'adaptive' } }).finalMessage()
  }

  it('has the pieces of two calls at once in order', async () => {
    const { content, stop_reason: reason } = await finalOf(
      opened(0, '{"town"'),
      opened(1, '{"to'),
      call(0, ':"Rome"}'),
      textChunk('So.'),
      call(1, 'wn":"Oslo"}'),
    )
    expect(content).to.deep.equal([
      { type: 'tool_use', id: 'call_0', name: 'weather', input: { town: 'Rome' } },
      { type: 'tool_use', id: 'call_1', name: 'weather', input: { town: 'Oslo' } },
      { type: 'text', text: 'So.' },
    ])
    expect(reason).to.equal('tool_use')
  })

  it('shows a call as soon as the call before it is complete', async () => {
    const more = Promise.withResolvers<void>()
    async function* pieces(): AsyncGenerator<string> {
      yield* [opened(0, '{}'), opened(1, '{"town":')]
      await more.promise
      yield* [call(1, '"Oslo"}'), finishChunk(), usageChunk(), doneEvent]
    }
    own.upstream.answer({ pieces: pieces() })
    const starts: number[] = []
    for await (const one of client.messages.stream(request)) {
      if (one.type === 'content_block_start') starts.push(one.index)
      if (starts.length === 2) more.resolve()
    }
    expect(starts).to.deep.equal([0, 1])
  })

  it('closes thinking before the text, with a signature that clients keep', async () => {
    const { content } = await finalOf(
      event({ reasoning_content: 'Hm' }),
      event({ reasoning_content: '.' }),
      textChunk('Warm.'),
    )
    expect(content).to.have.length(2)
    expect(content[0]).to.include({ type: 'thinking', thinking: 'Hm.' })
    expect(content[0]).to.have.property('signature').that.is.not.empty
    expect(content[1]).to.deep.equal({ type: 'text', text: 'Warm.' })
  })

  it('ends with the words of a refusal', async () => {
    const {
      content,
      stop_reason: reason,
      stop_details: details,
    } = await finalOf(event({ refusal: 'I will ' }), event({ refusal: 'not.' }))
    expect(content).to.deep.equal([{ type: 'text', text: 'I will not.' }])
    expect(reason).to.equal('refusal')
    expect(details).to.deep.equal({ type: 'refusal', category: null, explanation: 'I will not.' })
  })

  it('has an estimate of the input at its start, and the counts at its end', async () => {
    own.upstream.answer(streamed(['Warm.']))
    const stream = client.messages.stream(request)
    const usages: number[] = []
    for await (const one of stream) {
      if (one.type === 'message_start') usages.push(one.message.usage.input_tokens)
      if (one.type !== 'message_delta') continue
      usages.push(one.usage.input_tokens!)
      expect(one.usage).to.include({ cost: null, cost_status: 'unknown' })
    }
    expect(usages[0]).to.be.greaterThan(5)
    expect(usages[1]).to.equal((await own.gateway.usage()).at(-1)!.input_tokens)
  })

  it('has the event ping while the provider is silent', async () => {
    const more = Promise.withResolvers<void>()
    async function* pieces(): AsyncGenerator<string> {
      yield textChunk('one ')
      await more.promise
      yield* [textChunk('two'), finishChunk(), usageChunk(), doneEvent]
    }
    own.upstream.answer({ pieces: pieces() })
    const key = own.gateway.liveKey
    const body = { ...request, stream: true }
    let text = ''
    for await (const piece of (await own.gateway.post('/v1/messages', body, { key })).body!) {
      text += Buffer.from(piece).toString()
      if (text.includes('event: ping\n')) more.resolve()
    }
    const ping = readEvents(text).find(({ name }) => name === 'ping')
    expect(ping).to.deep.equal({ name: 'ping', data: '{"type":"ping"}' })
    expect(orderComplaints(readMessageEvents(text))).to.deep.equal([])
  })

  it('comes from the cache with its own id', async () => {
    own.upstream.answer(streamed(['Warm.']))
    const key = own.gateway.liveKey
    const ask = async () => {
      const body = { ...request, stream: true, max_tokens: 77 }
      const response = await own.gateway.post('/v1/messages', body, { key })
      return { response, events: readMessageEvents(await response.text()) }
    }
    const first = await ask()
    const second = await ask()
    expect(second.response.headers.get('x-gateway-cache')).to.equal('hit')
    expect(orderComplaints(second.events)).to.deep.equal([])
    const idOf = ([start]: typeof first.events) =>
      start?.type === 'message_start' ? start.message.id : ''
    expect(idOf(second.events)).not.to.equal(idOf(first.events))
  })
})

describe('a whole message', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint()
  })
  after(() => own.stop())

  it('has arguments that are not JSON as Anthropic’s clients send them', async () => {
    const client = anthropicClient(own.gateway)
    for (const text of ['{"town":Rome', '[1]']) {
      const called = { name: 'weather', arguments: text }
      const calls = [{ id: 'call_1', type: 'function', function: called }]
      const { body } = completion('') as { body: { choices: { message: object }[] } }
      Object.assign(body.choices[0]!.message, { tool_calls: calls })
      own.upstream.answer({ body })
      const headers = { 'cache-control': 'no-store' }
      const message = await client.messages.create(request, { headers })
      expect(message.content.at(-1)).to.deep.include({ input: { INVALID_JSON: text } })
      expect(message.stop_reason).to.equal('tool_use')
    }
  })
})
