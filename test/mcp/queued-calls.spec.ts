import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { postMessages, toolCall } from '../support/mcp-client.ts'
import { openMessageStream } from '../support/message-stream.ts'
import { countLeft } from '../support/metric.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'

const chat = (id: unknown, content = `call ${String(id)}`) =>
  toolCall('chat', { model: 'own/house-1', messages: [{ ...hello[0]!, content }] }, id)
const cancelled = (requestId: unknown) => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
})

describe('tool calls of one key', () => {
  let shared: OwnEndpoint
  let own: OwnEndpoint
  let release: () => void
  before(async () => {
    shared = await startOwnEndpoint({
      limits: { event_streams_per_key_max: 2 },
      bounds: { batchCallsConcurrentMax: 1, toolCallsPerKeyMax: 3 },
    })
  })
  beforeEach(async () => {
    own = await shared.inNewAccount()
    const gate = Promise.withResolvers<void>()
    release = gate.resolve
    own.upstream.answer({ ...completion('Hi.'), after: gate.promise })
  })
  after(() => shared.stop())
  const post = (body: unknown, key = own.gateway.liveKey) =>
    postMessages(own.gateway, body, { key })
  const asked = (count: number) =>
    until(`${count} calls are with the provider`, () => own.upstream.requests.length === count)

  it('can be cancelled while they are queued', async () => {
    const batch = post([chat('a'), chat('b'), chat('c')])
    await asked(1)
    await post(cancelled('b'))
    release()
    const { answers } = await batch
    expect(answers.map(({ id }) => id)).to.deep.equal(['a', 'c'])
    expect(own.upstream.requests).to.have.length(2)
  })

  it('can be cancelled by a later message of their own batch', async () => {
    const { response } = await post([chat(1), cancelled(1)])
    expect(response.status).to.equal(202)
    expect(own.upstream.requests).to.have.length(0)
  })

  it('are not started for a client that has left', async () => {
    const left = await countLeft(own.gateway)
    const leaving = new AbortController()
    const sent = own.gateway.post('/mcp', [chat(1), chat(2), chat(3)], {
      key: own.gateway.liveKey,
      signal: leaving.signal,
    })
    sent.catch(() => undefined)
    await asked(1)
    leaving.abort()
    await left.until(1)
    release()
    // When the queued calls are cancelled, the limit allows three new calls.
    await until('the other calls are cancelled', async () => {
      const { response } = await post([chat(4), chat(5), chat(6)])
      return response.status === 200
    })
    const said = own.upstream.requests.map(({ body }) => JSON.stringify(body))
    expect(said.filter((text) => /call [23]/.test(text))).to.deep.equal([])
  })

  it('are limited for each key separately', async () => {
    const first = post([chat(1), chat(2)])
    await asked(1)
    const { response, answer } = await post([chat(3), chat(4)])
    expect(response.status).to.equal(429)
    expect(response.headers.get('retry-after')).to.equal('1')
    expect(answer.error!.message).to.contain('3 queued and running tool calls')
    const other = post([chat(5), chat(6), chat(7)], await own.gateway.createKey('live'))
    await asked(2)
    release()
    expect((await first).answers).to.have.length(2)
    expect((await other).answers).to.have.length(3)
    expect((await post([chat(8), chat(9), chat(10)])).response.status).to.equal(200)
  })

  it('have a limit besides the limit of event streams of the key', async () => {
    const hold = (key: string) =>
      openMessageStream((signal) =>
        own.gateway.fetch('/mcp', { headers: { accept: 'text/event-stream' }, signal, key }),
      )
    const key = own.gateway.liveKey
    const streams = [await hold(key), await hold(key), await hold(key)]
    expect(streams.map(({ response }) => response.status)).to.deep.equal([200, 200, 429])
    await streams[2]!.ended
    expect(streams[2]!.text()).to.contain('This key has 2 open event streams, its limit.')
    const other = await hold(own.gateway.testKey)
    expect(other.response.status).to.equal(200)
    for (const stream of [...streams, other]) stream.leave()
  })
})
