import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { postMessages, request, textOf, toolCall, type RpcAnswer } from '../support/mcp-client.ts'
import { openMessageStream, type MessageStream } from '../support/message-stream.ts'
import { until } from '../support/until.ts'

const chat = (content: string) =>
  toolCall('chat', { model: 'gpt-5.2', messages: [{ role: 'user', content }] })

describe('the event stream of /mcp', () => {
  let gateway: TestGateway
  beforeEach(async () => {
    gateway = await startGateway({
      file: {
        limits: {
          ping_interval_ms: 100,
          event_streams_per_account_max: 5,
          concurrent_requests_max: 4,
        },
      },
      bounds: { eventStreamsMax: 8, toolProgressIntervalMs: 100 },
    })
  })
  afterEach(() => gateway.stop())

  const hold = (key?: string): Promise<MessageStream> =>
    openMessageStream((signal) =>
      gateway.fetch('/mcp', {
        headers: { accept: 'text/event-stream' },
        signal,
        ...(key === undefined ? {} : { key }),
      }),
    )

  /** Opens streams one after another, since this gateway handles at most four requests at once. */
  const holdMany = async (count: number, key?: string): Promise<MessageStream[]> => {
    const streams: MessageStream[] = []
    while (streams.length < count) streams.push(await hold(key))
    return streams
  }

  it('sends its headers at once, and a comment at every interval', async () => {
    const stream = await hold()
    expect(stream.response.status).to.equal(200)
    expect(stream.response.headers.get('content-type')).to.match(/^text\/event-stream/)
    expect(stream.response.headers.get('cache-control')).to.contain('no-cache')
    await until('the first comment', () => stream.text().startsWith(': open\n\n'))
    await until('two pings', () => stream.text().split(': ping\n\n').length > 2)
    stream.leave()
  })

  it('reports changed tools', async () => {
    const streams = await Promise.all([hold(), hold()])
    gateway.announceToolsChanged()
    for (const stream of streams) {
      const [message] = await stream.untilMessages(1)
      expect(message).to.deep.equal({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
      stream.leave()
    }
  })

  it('reports the state of generations to their account, and to no other account', async () => {
    const otherAccount = await gateway.createAccount()
    const other = await hold(await gateway.createKey('test', { accountId: otherAccount }))
    const own = await hold(await gateway.createKey('test'))
    const { response } = await postMessages(gateway, chat('sandbox:delay=250'))
    await until('the end', () => own.messages().at(-1)?.params?.['data'] !== undefined)
    await until('the end', () => stateOf(own.messages().at(-1)) === 'finished')
    const messages = own.messages()
    expect(messages.map(stateOf)).to.include.members(['started', 'running', 'finished'])
    for (const { method, params } of messages) {
      expect(method).to.equal('notifications/message')
      expect(params).to.include({ level: 'info', logger: 'generation' })
      expect(params!['data']).to.include({
        tool: 'chat',
        requestId: response.headers.get('x-request-id'),
      })
    }
    expect(other.messages()).to.deep.equal([])
    for (const stream of [own, other]) stream.leave()
  })

  it('does not report them to a key with the log level warning', async () => {
    const quietKey = await gateway.createKey('test')
    const message = request('logging/setLevel', { level: 'warning' })
    const { answer } = await postMessages(gateway, message, { key: quietKey })
    expect(answer.result).to.deep.equal({})
    const [quiet, loud] = [await hold(quietKey), await hold()]
    await postMessages(gateway, chat('hello'))
    await loud.untilMessages(2)
    expect(quiet.messages()).to.deep.equal([])
    for (const stream of [quiet, loud]) stream.leave()
  })

  it('is limited by account, and may be opened again after another is closed', async () => {
    const streams = await holdMany(5)
    const response = await gateway.fetch('/mcp', { headers: { accept: 'text/event-stream' } })
    const body = (await response.json()) as RpcAnswer
    expect(response.status).to.equal(429)
    expect(response.headers.get('retry-after')).to.equal('60')
    expect(body.error!.message).to.contain('5 open event streams')
    streams[0]!.leave()
    await until('a stream may be opened', async () => {
      const next = await hold()
      if (next.response.status === 200) streams.push(next)
      return next.response.status === 200
    })
    for (const stream of streams) stream.leave()
  })

  it('is limited for 500 concurrent requests too, and frees its place when it is closed', async () => {
    for (let round = 0; round < 2; round++) {
      const opened = await Promise.all(Array.from({ length: 500 }, () => hold()))
      const statuses = opened.map(({ response }) => response.status)
      expect(statuses.filter((status) => status === 200)).to.have.length(5)
      // Requests are refused with 503 while too many run at once, and with 429 at the stream limit.
      expect(statuses.filter((status) => status === 429 || status === 503)).to.have.length(495)
      for (const stream of opened) stream.leave()
      await Promise.all(opened.map(({ ended }) => ended))
      await until('a stream may be opened', async () => {
        const next = await hold()
        next.leave()
        return next.response.status === 200
      })
    }
  })

  it('is limited for all accounts together', async () => {
    const accountId = await gateway.createAccount()
    const otherKey = await gateway.createKey('test', { accountId })
    const streams = [...(await holdMany(4)), ...(await holdMany(4, otherKey))]
    const one = await hold()
    expect(one.response.status).to.equal(503)
    for (const stream of [...streams, one]) stream.leave()
  })

  it('does not count as a running request: others are answered while many streams are open', async () => {
    const streams = await holdMany(5)
    const { answer } = await postMessages(gateway, chat('hello'))
    expect(textOf(answer.result!)).to.contain('hello')
    for (const stream of streams) stream.leave()
  })

  it('ends when the gateway drains', async () => {
    const stream = await hold()
    const startedAt = performance.now()
    await gateway.drain()
    await stream.ended
    expect(performance.now() - startedAt).to.be.lessThan(2000)
  })

  it('drops events for a client that does not read', async () => {
    const stream = await hold()
    for (let count = 0; count < 50_000; count++) gateway.announceToolsChanged()
    await until('some events', () => stream.messages().length > 0)
    stream.leave()
  })
})

function stateOf(message: { params?: Record<string, unknown> } | undefined): unknown {
  return (message?.params?.['data'] as { state?: string } | undefined)?.state
}
