import { once } from 'node:events'
import { expect } from 'chai'
import {
  completion,
  doneEvent,
  finishChunk,
  textChunk,
  usageChunk,
} from '../support/chat-answers.ts'
import { readText } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { holdAnswer } from '../support/held-answer.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { openConnection } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'

describe('more requests at once than the gateway takes', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({ limits: { concurrent_requests_max: 2 } })
  })
  after(() => own.stop())

  it('are refused early with 503, and accepted again once others have ended', async () => {
    const gate = Promise.withResolvers<void>()
    own.upstream.answer({ ...completion('Hi.'), after: gate.promise })
    const asking = ['one', 'two'].map((content) =>
      own.chat({ messages: [{ role: 'user', content }] }),
    )
    await until('both are with the provider', () => own.upstream.requests.length === 2)
    // The third call is answered while the first two calls still wait for the provider.
    const third = await own.chat({ messages: [{ role: 'user', content: 'three' }] })
    const expected = { status: 503, code: 'overloaded', type: 'overloaded_error', param: null }
    await expectError(third, expected)
    expect(third.headers.get('retry-after')).to.equal('1')
    const probes = await Promise.all(['/health', '/metrics'].map((path) => own.gateway.fetch(path)))
    expect(probes.map(({ status }) => status)).to.deep.equal([200, 200])
    gate.resolve()
    const answers = await Promise.all(asking)
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
    expect((await own.chat()).status).to.equal(200)
    expect(own.upstream.requests).to.have.length(3)
  })
})

describe('a gateway that is asked to stop', () => {
  it('finishes an open stream, accepts no new request, and records the call', async () => {
    await using own = await startOwnEndpoint()
    const gate = Promise.withResolvers<void>()
    async function* pieces(): AsyncGenerator<string> {
      yield textChunk('one ')
      await gate.promise
      yield* [textChunk('two'), finishChunk(), usageChunk(), doneEvent]
    }
    own.upstream.answer({ pieces: pieces() })
    const stream = await own.chat({ stream: true })
    let drained = false
    const draining = own.gateway.drain().then(() => (drained = true))
    await portIsClosed(own)
    expect(drained).to.equal(false)
    gate.resolve()
    expect(readText(await stream.text())).to.equal('one two')
    await draining
    expect((await own.gateway.usage()).map(({ outcome }) => outcome)).to.deep.equal(['ok'])
  })

  it('reports on open connections that it is not ready', async () => {
    await using own = await startOwnEndpoint()
    const socket = await openConnection(own.gateway.url)
    let answer = ''
    socket.on('data', (piece: Buffer) => (answer += piece.toString()))
    socket.write('GET /ready HTTP/1.1\r\nhost: gateway\r\n')
    // The answer to a later request shows that the server has read the incomplete request.
    expect((await own.gateway.fetch('/health')).status).to.equal(200)
    const draining = own.gateway.drain()
    await portIsClosed(own)
    socket.write('\r\n')
    await once(socket, 'close')
    await draining
    expect(answer).to.match(/^HTTP\/1\.1 503 /)
    expect(answer).to.match(/\r\nconnection: close\r\n/i)
    expect(answer).to.contain('"code":"overloaded"')
  })

  it('answers each pipelined request, and closes the connection after the last', async () => {
    await using own = await startOwnEndpoint()
    const held = await holdAnswer(own, 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2))
    expect((await own.gateway.fetch('/health')).status).to.equal(200)
    const draining = own.gateway.drain()
    await portIsClosed(own)
    held.answer()
    await once(held.socket, 'close')
    await draining
    expect(held.text().match(/HTTP\/1\.1 200 /g)).to.have.length(3)
    expect(held.text().match(/\r\nconnection: close\r\n/gi)).to.have.length(1)
  })

  it('aborts requests that exceed the drain time', async () => {
    await using own = await startOwnEndpoint({
      limits: { drain_timeout_ms: 100, drain_notice_ms: 5000 },
    })
    own.upstream.answer({ pieces: [textChunk('one ')], hang: true })
    const stream = await own.chat({ stream: true })
    const startedAt = performance.now()
    const left = stream.text().catch(() => 'cut off')
    await own.gateway.drain()
    expect(performance.now() - startedAt).to.be.within(90, 2000)
    expect(await left).to.equal('cut off')
    expect((await own.gateway.usage()).map(({ outcome }) => outcome)).to.deep.equal(['cancelled'])
  })
})

function portIsClosed({ gateway }: OwnEndpoint): Promise<void> {
  return until('the port is closed', () =>
    gateway.fetch('/health').then(
      () => false,
      () => true,
    ),
  )
}
