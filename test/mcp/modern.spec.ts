import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import type { TestGateway } from '../support/gateway.ts'
import { postMessages, type RpcAnswer } from '../support/mcp-client.ts'
import { openMessageStream, type MessageStream } from '../support/message-stream.ts'
import { modernHeaders, modernRequest } from '../support/modern-mcp.ts'
import { completion } from '../support/chat-answers.ts'
import { countLeft } from '../support/metric.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import type { Upstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'

const modern = '2026-07-28'
const both = 'application/json, text/event-stream'
const subscription = 'io.modelcontextprotocol/subscriptionId'
const saying = (content: string, model = 'gpt-5.2') => ({
  name: 'chat',
  arguments: { model, messages: [{ role: 'user', content }] },
})

describe('revision 2026-07-28 of /mcp', () => {
  let shared: OwnEndpoint
  let own: OwnEndpoint
  let gateway: TestGateway
  let upstream: Upstream
  before(async () => {
    shared = await startOwnEndpoint({
      limits: { event_streams_per_account_max: 2 },
      bounds: { toolProgressIntervalMs: 100, streamAfterMs: 150 },
    })
  })
  beforeEach(async () => {
    own = await shared.inNewAccount()
    ;({ gateway, upstream } = own)
  })
  after(() => shared.stop())

  const open = (method: string, params: object, { meta = {}, key = gateway.testKey } = {}) => {
    const { name } = params as { name?: string }
    const headers = { accept: both, ...modernHeaders(method, name) }
    return openMessageStream((signal) =>
      gateway.post('/mcp', modernRequest(method, params, meta), { headers, signal, key }),
    )
  }
  const listen = (notifications: object = { toolsListChanged: true }) =>
    open('subscriptions/listen', { notifications })
  const ask = async (method: string, params: object = {}) => {
    const headers = modernHeaders(method)
    return (await postMessages(gateway, modernRequest(method, params), { headers })).answer
  }
  const statesIn = (stream: MessageStream) =>
    stream
      .messages()
      .filter(({ method }) => method === 'notifications/message')
      .map(({ params }) => (params!['data'] as { state: string }).state)

  describe('with the client of the SDK', () => {
    const connect = async (mode: 'auto' | 'legacy' | { pin: string }, key = gateway.testKey) => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      const headers = { authorization: `Bearer ${key}` }
      const address = new URL(`${gateway.url}/mcp`)
      await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }))
      return client
    }

    for (const [mode, agreed] of [
      ['auto', modern],
      [{ pin: modern }, modern],
      ['legacy', '2025-11-25'],
    ] as const) {
      it(`lists and calls tools in the mode ${JSON.stringify(mode)}`, async () => {
        const client = await connect(mode)
        expect(client.getNegotiatedProtocolVersion()).to.equal(agreed)
        expect((await client.listTools()).tools).to.have.length(5)
        const reported: number[] = []
        const result = await client.callTool(saying('sandbox:delay=250'), {
          onprogress: ({ progress }) => reported.push(progress),
        })
        expect(result.isError).to.equal(undefined)
        expect(reported.slice(0, 3)).to.deep.equal([0, 1, 2])
        await client.close()
      })
    }

    it('ends only the call of the client that times out, not a call with the same id of another', async () => {
      const left = await countLeft(gateway)
      const gate = Promise.withResolvers<void>()
      upstream.answer({ ...completion('at last'), after: gate.promise })
      const clients = await Promise.all([1, 2].map(() => connect('auto', gateway.liveKey)))
      const [impatient, patient] = clients.map((client, index) =>
        client
          .callTool(saying(`wait ${index}`, 'own/house'), { timeout: index === 0 ? 400 : 10_000 })
          .then(JSON.stringify, (error: Error) => error.message),
      )
      await until('both calls', () => upstream.requests.length === 2)
      expect(await impatient).to.match(/timed out/)
      await left.until(1)
      gate.resolve()
      expect(await patient).to.contain('at last')
      expect(await left.count()).to.equal(1)
      for (const client of clients) await client.close()
    })
  })

  for (const [method, member] of [
    ['prompts/list', 'prompts'],
    ['resources/list', 'resources'],
    ['resources/templates/list', 'resourceTemplates'],
  ] as const) {
    it(`${method}: an empty list, although the server has none`, async () => {
      const { result } = await ask(method)
      expect(result).to.deep.include({ [member]: [], resultType: 'complete', cacheScope: 'public' })
      expect((await ask(method, { cursor: 'x' })).error).to.include({ code: -32602 })
    })
  }

  describe('cancellation', () => {
    it('happens by closing the connection, not by notifications/cancelled', async () => {
      const left = await countLeft(gateway)
      const gate = Promise.withResolvers<void>()
      upstream.answer({ ...completion('late'), after: gate.promise })
      const key = gateway.liveKey
      const call = open('tools/call', saying('wait', 'own/house'), { key })
      await until('the upstream call', () => upstream.requests.length === 1)
      const params = { requestId: 7 }
      const older = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
      const newer = modernRequest('notifications/cancelled', params)
      await postMessages(gateway, older, { key })
      await postMessages(gateway, { ...newer, id: undefined }, { key, headers: {} })
      const stream = await call
      expect(await left.count()).to.equal(0)
      stream.leave()
      await left.until(1)
      gate.resolve()
      await until('its row', async () => (await gateway.usage()).at(-1)?.face === 'mcp')
      expect((await gateway.usage()).at(-1)).to.include({ outcome: 'ok', model: 'own/house' })
    })
  })

  describe('results', () => {
    it('of discovery name the revision and the server, and may be cached', async () => {
      const { result } = await ask('server/discover')
      const said = ['supportedVersions', 'capabilities', 'instructions']
      const always = ['resultType', '_meta', 'ttlMs', 'cacheScope']
      expect(result).to.have.all.keys([...said, ...always])
      expect(result!['supportedVersions']).to.deep.equal([modern])
      expect(result!['capabilities']).to.deep.equal({
        tools: { listChanged: true },
        logging: {},
        prompts: {},
        resources: {},
      })
      const meta = result!['_meta'] as Record<string, object>
      expect(meta['io.modelcontextprotocol/serverInfo']).to.include({
        name: 'model-access-gateway',
      })
    })

    it('of lists are the same as in the older era, and may be cached', async () => {
      const { result } = await ask('tools/list')
      const older = await postMessages(gateway, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
      expect(result!['tools']).to.deep.equal(older.answer.result!['tools'])
      expect(result).to.include({ resultType: 'complete', ttlMs: 300_000, cacheScope: 'public' })
    })

    it('of a call contain its request id, also when replayed', async () => {
      const params = { ...saying('once'), _meta: {} }
      const meta = { idempotencyKey: 'once-only' }
      const messages: Record<string, unknown>[] = []
      while (messages.length < 2) {
        const request = modernRequest('tools/call', params, meta)
        const headers = modernHeaders('tools/call', 'chat')
        messages.push((await postMessages(gateway, request, { headers })).answer.result!)
      }
      const [first, second] = messages.map(({ _meta: said }) => said as Record<string, unknown>)
      expect(second).to.deep.equal({ ...first, idempotentReplayed: true })
      expect(messages[1]).to.include({ resultType: 'complete' })
    })
  })

  describe('log messages', () => {
    it('are in the answer to a call that requests them', async () => {
      const meta = { 'io.modelcontextprotocol/logLevel': 'info' }
      const stream = await open('tools/call', saying('sandbox:delay=250'), { meta })
      await stream.ended
      expect(statesIn(stream)).to.include.members(['started', 'running', 'finished'])
      expect(stream.messages().at(-1)!.result).to.include({ resultType: 'complete' })
    })

    for (const meta of [{}, { 'io.modelcontextprotocol/logLevel': 'warning' }]) {
      it(`are not sent with ${JSON.stringify(meta)}`, async () => {
        const stream = await open('tools/call', saying('sandbox:delay=250'), { meta })
        await stream.ended
        expect(statesIn(stream)).to.deep.equal([])
      })
    }

    it('of its calls go to event streams of the older era, and to no subscription', async () => {
      const older = await openMessageStream((signal) =>
        gateway.fetch('/mcp', { headers: { accept: both }, signal }),
      )
      const subscribed = await listen()
      await (
        await open('tools/call', saying('hello'))
      ).ended
      await until('the end', () => statesIn(older).includes('finished'))
      expect(subscribed.messages()).to.have.length(1)
      for (const stream of [older, subscribed]) stream.leave()
    })
  })

  describe('a subscription', () => {
    it('is acknowledged, then receives changes of the tools', async () => {
      const stream = await listen({ toolsListChanged: true, promptsListChanged: true })
      await stream.untilMessages(1)
      gateway.announceToolsChanged()
      const [first, second] = await stream.untilMessages(2)
      expect(first).to.deep.equal({
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { _meta: { [subscription]: 7 }, notifications: { toolsListChanged: true } },
      })
      expect(second).to.deep.equal({
        jsonrpc: '2.0',
        method: 'notifications/tools/list_changed',
        params: { _meta: { [subscription]: 7 } },
      })
      stream.leave()
    })

    for (const filter of [
      {},
      { promptsListChanged: true, resourceSubscriptions: ['x:y'] },
      { toolsListChanged: null },
    ]) {
      it(`to ${JSON.stringify(filter)} ends at once`, async () => {
        const stream = await listen(filter)
        await stream.ended
        const [first, last] = stream.messages()
        expect(first!.params!['notifications']).to.deep.equal({})
        expect(last).to.include({ id: 7 })
        expect(last!.result!['resultType']).to.equal('complete')
      })
    }

    it('is refused without a filter, or with an invalid one', async () => {
      for (const params of [
        {},
        { notifications: [] },
        { notifications: { toolsListChanged: 1 } },
      ]) {
        const { error } = await ask('subscriptions/listen', params)
        expect(error!.code).to.equal(-32602)
        expect(error!.message).to.contain('notifications')
      }
    })

    it('counts as an event stream of its account until it is closed', async () => {
      const streams = [await listen(), await listen()]
      const refused = await listen()
      await refused.ended
      expect(refused.response.status).to.equal(429)
      expect(refused.response.headers.get('retry-after')).to.equal('60')
      expect((JSON.parse(refused.text()) as RpcAnswer).error!.message).to.contain(
        '2 open event streams',
      )
      streams[0]!.leave()
      await until('a stream may be opened', async () => {
        const next = await listen()
        if (next.response.status === 200) streams.push(next)
        return next.response.status === 200
      })
      for (const stream of streams) stream.leave()
    })

    it('ends with its result when the gateway drains', async () => {
      const stream = await listen()
      await stream.untilMessages(1)
      await gateway.drain()
      await stream.ended
      const last = stream.messages().at(-1)
      expect(last!.id).to.equal(7)
      expect(last!.result!['_meta']).to.include({ [subscription]: 7 })
    })
  })
})
