import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { completion, textChunk } from '../support/chat-answers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { metric } from '../support/metric.ts'
import { hello, startOwnEndpoint } from '../support/own-endpoint.ts'
import { openConnection, postHead } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'

const getHealth = 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n'
const getLarge = 'GET /openapi.yaml HTTP/1.1\r\nhost: x\r\n\r\n'

/** Waits until Node, which checks connections periodically, has closed a connection for this reason. */
const untilClosedFor = (gateway: TestGateway, reason: string): Promise<void> =>
  until(`one is closed as ${reason}`, async () => {
    return (await metric(gateway, `gateway_connections_closed_total{reason="${reason}"}`)) > 0
  })

/** Waits until the peer has closed the connection: data sent afterwards is answered by a reset. */
async function untilCut(socket: Socket): Promise<void> {
  await until('the connection is cut', () => {
    if (!socket.destroyed) socket.write('x')
    return socket.destroyed
  })
}

describe('an answer that its client does not read', () => {
  it('is aborted, also when its client keeps sending', async () => {
    await using gateway = await startGateway({ bounds: { answerTimeoutMs: 200 } })
    const socket = await openConnection(gateway.url)
    socket.pause()
    socket.write(`${getLarge.repeat(12)}GET / HTTP/1.1\r\na: `)
    await untilCut(socket)
    await untilClosedFor(gateway, 'untaken')
    expect(gateway.logText()).to.match(/"untaken":1,"msg":"connections closed"/)
  })

  it('arrives whole when its client reads it slowly', async () => {
    let bytes = 0
    // By this clock the client reads 1 KiB per millisecond, and the whole answer in 12 seconds.
    await using own = await startOwnEndpoint({
      bounds: { answerTimeoutMs: 3000, lingerTimeoutMs: 40 },
      monotonic: () => bytes / 1024,
    })
    const text = 'x'.repeat(12 * 1024 * 1024)
    own.upstream.answer(completion(text))
    const body = JSON.stringify({ model: 'own/house-1', messages: hello })
    const socket = await openConnection(own.gateway.url)
    socket.pause()
    const length = { 'content-length': String(body.length) }
    socket.write(postHead('/v1/chat/completions', own.gateway.liveKey, length) + body)
    for await (const piece of socket) {
      bytes += (piece as Buffer).length
      await setTimeout(10)
    }
    expect(bytes).to.be.greaterThan(text.length)
  })

  it('is aborted in the middle of a stream, and its call is ended', async () => {
    await using own = await startOwnEndpoint({ bounds: { answerTimeoutMs: 200 } })
    const pieces = Array.from({ length: 4000 }, () => textChunk('x'.repeat(16_000)))
    own.upstream.answer({ pieces })
    const body = JSON.stringify({ model: 'own/house-1', messages: hello, stream: true })
    const socket = await openConnection(own.gateway.url)
    socket.pause()
    const length = { 'content-length': String(body.length) }
    socket.write(postHead('/v1/chat/completions', own.gateway.liveKey, length) + body)
    await until('the call is recorded', async () => (await own.gateway.usage()).length === 1)
    expect((await own.gateway.usage())[0]).to.include({ outcome: 'cancelled' })
    expect(own.upstream.requests[0]!.aborted).to.equal(true)
    socket.destroy()
  })

  it('counts as a running request until it is aborted', async () => {
    const file = { limits: { concurrent_requests_max: 1 } }
    await using gateway = await startGateway({ file, bounds: { answerTimeoutMs: 1000 } })
    const socket = await openConnection(gateway.url)
    socket.pause()
    socket.write(getLarge.repeat(12))
    const status = async () => (await gateway.fetch('/v1/models')).status
    await until('there is no room', async () => (await status()) === 503)
    expect(await status()).to.equal(503)
    await until('there is room again', async () => (await status()) === 200)
    await untilClosedFor(gateway, 'untaken')
  })

  it('does not include an event stream without events', async () => {
    await using gateway = await startGateway({ bounds: { answerTimeoutMs: 100 } })
    const headers = { accept: 'text/event-stream' }
    const stream = await gateway.fetch('/mcp', { headers })
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    const socket = await openConnection(gateway.url)
    socket.pause()
    socket.write(getLarge.repeat(12))
    await untilCut(socket)
    gateway.announceToolsChanged()
    let text = ''
    while (!text.includes('list_changed')) text += (await reader.read()).value
    await reader.cancel()
  })
})

describe('pipelined requests', () => {
  it('are handled one after the other', async () => {
    await using own = await startOwnEndpoint()
    const gates = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
    own.upstream.answer((_request, index) => ({
      ...completion(`answer ${index}`),
      after: gates[index]!.promise,
    }))
    const socket = await openConnection(own.gateway.url)
    let text = ''
    socket.on('data', (piece: Buffer) => (text += piece.toString()))
    for (const [index] of gates.entries()) {
      const messages = [{ role: 'user', content: `question ${index}` }]
      const body = JSON.stringify({ model: 'own/house-1', messages })
      const length = { 'content-length': String(body.length), connection: 'keep-alive' }
      socket.write(postHead('/v1/chat/completions', own.gateway.liveKey, length) + body)
    }
    for (const [index, gate] of gates.entries()) {
      await until('it is asked', () => own.upstream.requests.length === index + 1)
      // The answer shows that the gateway has read everything that was sent before.
      await own.gateway.fetch('/health')
      expect(own.upstream.requests).to.have.length(index + 1)
      gate.resolve()
      await until('it is answered', () => text.includes(`answer ${index}`))
    }
    socket.destroy()
  })

  it('are answered up to a limit, beyond which the connection is closed', async () => {
    await using gateway = await startGateway()
    const socket = await openConnection(gateway.url)
    let text = ''
    socket.on('data', (piece: Buffer) => (text += piece.toString()))
    socket.write(getHealth.repeat(17))
    await until('all are answered', () => text.split('HTTP/1.1 200').length === 18)
    socket.write(getHealth.repeat(100))
    await once(socket, 'close')
    await untilClosedFor(gateway, 'pipelined')
  })
})

describe('the number of connections', () => {
  /** A connection with a request whose body is incomplete. */
  async function busyConnection(
    { url, testKey }: TestGateway,
    localAddress = '127.0.0.1',
  ): Promise<Socket> {
    const { port } = new URL(url)
    const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress })
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(postHead('/v1/chat/completions', testKey, { 'content-length': '9' }))
    return socket
  }
  async function answerOn(socket: Socket): Promise<string> {
    let text = ''
    socket.on('data', (piece: Buffer) => (text += piece.toString()))
    await once(socket, 'close')
    return text
  }
  // Includes the connection that reads the metrics.
  const openOf = (gateway: TestGateway) => metric(gateway, 'gateway_connections')

  it('is limited: one more gets an error and is closed', async () => {
    const bounds = { connectionsMax: 3, lingerTimeoutMs: 50 }
    await using gateway = await startGateway({ bounds })
    const busy = [await busyConnection(gateway), await busyConnection(gateway)]
    await until('all are there', async () => (await openOf(gateway)) === 3)
    const answer = await answerOn(await openConnection(gateway.url))
    expect(answer).to.match(/^HTTP\/1\.1 503 Service Unavailable\r\nx-request-id: req_/)
    expect(answer).to.match(/\r\nretry-after: 1\r\n/)
    expect(answer).to.match(/\r\nconnection: close\r\n/)
    expect(answer).to.contain('"code":"overloaded"')
    await untilClosedFor(gateway, 'full')
    for (const socket of busy) socket.destroy()
    await until('there is room', async () => (await openOf(gateway)) === 1)
    await untilClosedFor(gateway, 'full')
    const refused = 'gateway_responses_total{status="503",code="overloaded"}'
    const closed = 'gateway_connections_closed_total{reason="full"}'
    expect(await metric(gateway, refused)).to.equal(await metric(gateway, closed))
  })

  it('is kept below the limit by closing idle connections first', async () => {
    let aheadMs = 0
    await using gateway = await startGateway({
      bounds: { connectionsMax: 3 },
      monotonic: () => performance.now() + aheadMs,
    })
    const busy = await busyConnection(gateway)
    const idle = await openConnection(gateway.url)
    idle.write(getHealth)
    await once(idle, 'data')
    await until('all are there', async () => (await openOf(gateway)) === 3)
    aheadMs = 2000
    const fresh = await openConnection(gateway.url)
    await once(idle, 'close')
    fresh.write(getHealth)
    const [answer] = (await once(fresh, 'data')) as [Buffer]
    expect(answer.toString()).to.match(/^HTTP\/1\.1 200 /)
    expect(busy.destroyed).to.equal(false)
    for (const socket of [busy, fresh]) socket.destroy()
  })

  it('is limited for each address', async () => {
    const file = { limits: { connections_per_address_max: 2 } }
    await using gateway = await startGateway({ file, bounds: { lingerTimeoutMs: 50 } })
    const busy = [
      await busyConnection(gateway, '127.0.0.2'),
      await busyConnection(gateway, '127.0.0.2'),
    ]
    const third = await busyConnection(gateway, '127.0.0.2')
    const answer = await answerOn(third)
    expect(answer).to.match(/^HTTP\/1\.1 503 /)
    expect(answer).to.contain('too many connections from this address')
    expect((await gateway.fetch('/health')).status).to.equal(200)
    for (const socket of busy) socket.destroy()
  })
})

describe('a client that does not close its connection', () => {
  it('is disconnected after a refusal', async () => {
    const file = { limits: { request_timeout_ms: 100 } }
    await using gateway = await startGateway({ file, bounds: { lingerTimeoutMs: 100 } })
    const { port } = new URL(gateway.url)
    const refused = [
      ['POST / HTTP/1.1\r\nhost: x\r\n', 408],
      ['hello\r\n\r\n', 400],
      ['CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n', 501],
    ] as const
    for (const [bytes, status] of refused) {
      const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
      socket.on('error', () => undefined)
      socket.write(bytes)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      expect(answer.toString()).to.match(new RegExp(`^HTTP/1.1 ${status} `))
      await untilCut(socket)
    }
  })
})
