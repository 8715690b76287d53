import { expect } from 'chai'
import { doneEvent, finishChunk, textChunk, usageChunk } from '../support/chat-answers.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { checkResponseEvents } from '../support/response-events.ts'

describe('calls of a streamed response', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 } })
  })
  after(() => own.stop())

  const call = (index: number, args: string, more: object = {}) => {
    const made = { index, ...more, function: { name: 'weather', arguments: args } }
    const choices = [{ index: 0, delta: { tool_calls: [made] }, finish_reason: null }]
    const identity = { id: 'a1', object: 'chat.completion.chunk', created: 1, model: 'house-1' }
    return `data: ${JSON.stringify({ ...identity, choices })}\n\n`
  }
  const opened = (index: number, args: string) =>
    call(index, args, { id: `call_${index}`, type: 'function' })
  const outputOf = async (...events: string[]) => {
    own.upstream.answer({ pieces: [...events, finishChunk(), usageChunk(), doneEvent] })
    const tools = [{ type: 'function', name: 'weather' }]
    const body = { model: 'own/house-1', input: 'How warm?', stream: true, tools }
    const response = await own.gateway.post('/v1/responses', body, { key: own.gateway.liveKey })
    return checkResponseEvents(await response.text()).response.output
  }

  it('come one after the other, though the vendor sends two at once', async () => {
    const output = await outputOf(
      opened(0, '{"town"'),
      opened(1, '{"to'),
      call(0, ':"Rome"}'),
      textChunk('So.'),
      call(1, 'wn":"Oslo"}'),
    )
    expect(output.map(({ type }) => type)).to.deep.equal([
      'function_call',
      'function_call',
      'message',
    ])
    expect(output[0]).to.include({ call_id: 'call_0', arguments: '{"town":"Rome"}' })
    expect(output[1]).to.include({ call_id: 'call_1', arguments: '{"town":"Oslo"}' })
  })

  it('keep arguments that are not JSON', async () => {
    const output = await outputOf(opened(0, '{"town":'), textChunk('So.'))
    expect(output[0]).to.include({ type: 'function_call', arguments: '{"town":' })
    expect(output[1]).to.include({ type: 'message' })
  })

  it('end an answer that has no end', async () => {
    function* flood(): Generator<string> {
      const piece = textChunk('x'.repeat(65_536))
      for (;;) yield piece
    }
    own.upstream.answer({ pieces: flood() })
    const body = { model: 'own/house-1', input: 'Tell.', stream: true }
    const response = await own.gateway.post('/v1/responses', body, { key: own.gateway.liveKey })
    const { response: last } = checkResponseEvents(await response.text())
    expect(last).to.include({ status: 'failed' })
    const [request] = own.upstream.requests
    await request!.closed
    expect(request!.aborted).to.equal(true)
  })

  it('get an id if the vendor sends none', async () => {
    const [made] = await outputOf(call(0, '{}'))
    expect(made!['call_id']).to.match(/^call_/)
  })
})
