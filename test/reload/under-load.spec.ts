import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { completion, textChunk } from '../support/chat-answers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello, ownProvider, quickLimits } from '../support/own-endpoint.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'

describe('a reload under load', () => {
  let upstreams: Upstream[]
  let gateway: TestGateway
  const limits = { ...quickLimits, cache_ttl_seconds: 0, requests_per_minute: 1_000_000 }
  const settings = (upstream: Upstream, more: { limits?: object } = {}) => ({
    providers: [ownProvider('own', upstream)],
    ...more,
    limits: { ...limits, ...more.limits },
  })

  beforeEach(async () => {
    upstreams = await Promise.all([startUpstream(), startUpstream()])
    upstreams.forEach((one, index) => one.answer(completion(`upstream ${index}`)))
    gateway = await startGateway({
      variables: { OWN_API_KEY: 'sk-own-0123456789abcdef' },
      file: settings(upstreams[0]!),
    })
  })
  afterEach(async () => {
    await gateway.stop()
    for (const one of upstreams) await one.stop()
  })

  const post = (body: object = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'own/house-1', messages: hello, ...body },
      { key: gateway.liveKey },
    )
  const contentOf = async (response: Response): Promise<string> => {
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    return (JSON.parse(text) as { choices: { message: { content: string } }[] }).choices[0]!.message
      .content
  }

  it('lets a stream finish at its old provider while new calls use the new one', async () => {
    const rest = Promise.withResolvers<void>()
    upstreams[0]!.answer({
      headers: { 'content-type': 'text/event-stream' },
      pieces: (async function* () {
        yield textChunk('first ')
        await rest.promise
        yield textChunk('last')
        yield 'data: [DONE]\n\n'
      })(),
    })
    const streaming = await post({ stream: true })
    const reader = streaming.body!.getReader()
    const decoder = new TextDecoder()
    let text = decoder.decode((await reader.read()).value)
    expect((await gateway.reload(settings(upstreams[1]!))).status).to.equal(200)
    expect(await contentOf(await post())).to.equal('upstream 1')
    rest.resolve()
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      text += decoder.decode(piece.value)
    }
    expect(text).to.contain('first ').and.to.contain('last').and.to.contain('[DONE]')
    const rows = await gateway.usage()
    expect(rows.map(({ outcome }) => outcome)).to.deep.equal(['ok', 'ok'])
  })

  it('fails no call and leaks nothing in a hundred reloads', async () => {
    const over = new AbortController()
    let calls = 0
    const caller = async () => {
      while (!over.signal.aborted) {
        expect(await contentOf(await post())).to.match(/^upstream [01]$/)
        calls++
      }
    }
    const change = async (count: number): Promise<void> => {
      const answer = await gateway.reload(
        count % 10 === 9
          ? 'providers: [7]'
          : settings(upstreams[count % 2]!, { limits: { upstream_connections_max: 100 + count } }),
      )
      expect(answer.status).to.equal(count % 10 === 9 ? 400 : 200)
      await answer.arrayBuffer()
    }
    const listeners = () =>
      process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
    /** The number of sockets: both ends of connections to the providers and of connections of callers. */
    const sockets = () =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length

    const callers = [caller(), caller(), caller(), caller()]
    for (let count = 0; count < 5; count++) await change(count)
    await until('calls were answered', () => calls > 20)
    const [listenersBefore, socketsBefore] = [listeners(), sockets()]
    for (let count = 5; count < 105; count++) {
      await change(count)
      await turn()
    }
    over.abort()
    await Promise.all(callers)
    expect(calls).to.be.above(50)
    expect(listeners()).to.equal(listenersBefore)
    // Old connections must close before they would time out as idle.
    await until('old connections are closed', () => sockets() <= socketsBefore + 4)
    const rows = await gateway.usage()
    expect(rows).to.have.length(calls)
    expect(rows.filter(({ outcome }) => outcome !== 'ok')).to.deep.equal([])
  })
})
