import { expect } from 'chai'
import { answerComplaints } from '../support/answers.ts'
import { startGateway, type CallOptions, type TestGateway } from '../support/gateway.ts'
import { postMessages, request, textOf, toolCall, type RpcAnswer } from '../support/mcp-client.ts'

describe('messages to /mcp', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const list = request('tools/list')
  const call = (method: string, init: CallOptions = {}) =>
    gateway.fetch('/mcp', { method, ...init })

  describe('revisions', () => {
    const ask = async (protocolVersion: unknown) => {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '1' } }
      const { answer } = await postMessages(gateway, request('initialize', params))
      return answer.result!['protocolVersion']
    }
    const known = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
    for (const version of known) {
      it(`agrees on ${version} when requested`, async () => {
        expect(await ask(version)).to.equal(version)
      })
      it(`accepts ${version} in the header, whatever was agreed on`, async () => {
        const headers = { 'mcp-protocol-version': version }
        expect((await postMessages(gateway, list, { headers })).response.status).to.equal(200)
      })
    }
    for (const version of ['2026-07-28', '1999-01-01', '', undefined, 7]) {
      it(`answers with its own revision when ${version} is requested`, async () => {
        expect(await ask(version)).to.equal('2024-11-05')
      })
    }
  })

  describe('bodies', () => {
    const rows: { name: string; body: string; status: number; code: number; id?: unknown }[] = [
      { name: 'nothing', body: '', status: 400, code: -32700 },
      { name: 'what is not JSON', body: '{"jsonrpc":', status: 400, code: -32700 },
      {
        name: 'what is no message',
        body: '{"id":7,"method":"ping"}',
        status: 400,
        code: -32600,
        id: 7,
      },
      { name: 'a number', body: '42', status: 400, code: -32600 },
      {
        name: 'neither request nor answer',
        body: '{"jsonrpc":"2.0","id":3}',
        status: 400,
        code: -32600,
        id: 3,
      },
      {
        name: 'a null id',
        body: '{"jsonrpc":"2.0","id":null,"method":"ping"}',
        status: 400,
        code: -32600,
      },
      {
        name: 'params that are a list',
        body: '{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}',
        status: 400,
        code: -32600,
        id: 4,
      },
      {
        name: 'a strange progress token',
        body: '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"_meta":{"progressToken":{}}}}',
        status: 400,
        code: -32600,
        id: 5,
      },
      { name: 'an empty batch', body: '[]', status: 400, code: -32600 },
      {
        name: 'a batch of a thousand',
        body: JSON.stringify(Array(1000).fill('x')),
        status: 400,
        code: -32600,
      },
      {
        name: 'a thousand levels',
        body: '['.repeat(5000) + ']'.repeat(5000),
        status: 400,
        code: -32600,
      },
    ]
    for (const { name, body, status, code, id = null } of rows) {
      it(`refuses ${name}`, async () => {
        const headers = { 'content-type': 'application/json' }
        const response = await call('POST', { body, headers })
        const text = await response.text()
        expect(response.status, text).to.equal(status)
        const answer = JSON.parse(text) as RpcAnswer
        expect(answer.error!.code).to.equal(code)
        expect(answer.id).to.equal(id)
        expect(
          answerComplaints('postMcp', { status, headers: response.headers, text }),
        ).to.deep.equal([])
      })
    }

    it('ignores unknown members of a request', async () => {
      const { answer } = await postMessages(gateway, { ...list, more: 1 })
      expect(answer.result).to.have.property('tools')
    })

    it('ignores members of features that the tool server does not have', async () => {
      const name = 'list-image-models'
      for (const params of [
        { name, _meta: { 'io.modelcontextprotocol/related-task': 7, vendor: [1] } },
        { name, task: { ttl: 60_000 } },
        { name, task: 'later', progress: true },
      ]) {
        const { answer } = await postMessages(gateway, request('tools/call', params))
        expect(textOf(answer.result!)).to.match(/^# Image Generation Models/)
      }
    })

    it('requires a JSON content type', async () => {
      for (const type of ['text/html', 'application/x-www-form-urlencoded']) {
        const headers = { 'content-type': type }
        const response = await call('POST', { body: Buffer.from(JSON.stringify(list)), headers })
        const body = (await response.json()) as RpcAnswer
        expect(response.status).to.equal(415)
        expect(body.error!.code).to.equal(-32000)
      }
    })

    it('refuses a body of 60 MB without buffering it', async () => {
      const headers = { 'content-type': 'application/json' }
      const response = await call('POST', { body: Buffer.alloc(60_000_000, 0x20), headers })
      expect(response.status).to.equal(413)
      expect(((await response.json()) as RpcAnswer).error!.code).to.equal(-32000)
    })

    it('reads a body of 20 MB', async () => {
      const messages = [{ role: 'user', content: 'x'.repeat(20_000_000) }]
      const { response, answer } = await postMessages(gateway, toolCall('nothing', { messages }))
      expect(response.status).to.equal(200)
      expect(answer.error!.code).to.equal(-32602)
    })
  })

  describe('messages', () => {
    const rows: { name: string; message: object; code: number }[] = [
      { name: 'an unknown method', message: request('agents/list'), code: -32601 },
      { name: 'completion', message: request('completion/complete', {}), code: -32601 },
      { name: 'a prompt', message: request('prompts/get', { name: 'x' }), code: -32601 },
      { name: 'a resource', message: request('resources/read', { uri: 'x:y' }), code: -32601 },
      {
        name: 'a further page of nothing',
        message: request('prompts/list', { cursor: 'x' }),
        code: -32602,
      },
      { name: 'a method of every object', message: request('__proto__'), code: -32601 },
      { name: 'an unknown tool', message: toolCall('paint', {}), code: -32602 },
      { name: 'a tool of every object', message: toolCall('constructor', {}), code: -32602 },
      { name: 'no tool', message: request('tools/call', {}), code: -32602 },
      { name: 'a call without params', message: request('tools/call'), code: -32602 },
      {
        name: 'arguments that are a list',
        message: request('tools/call', { name: 'chat', arguments: [1] }),
        code: -32602,
      },
      {
        name: 'a cursor that is not ours',
        message: request('tools/list', { cursor: 'x' }),
        code: -32602,
      },
      {
        name: 'a log level that there is not',
        message: request('logging/setLevel', { level: 'loud' }),
        code: -32602,
      },
    ]
    for (const { name, message, code } of rows) {
      it(`refuses ${name}`, async () => {
        const { response, answer } = await postMessages(gateway, message)
        expect(response.status).to.equal(200)
        expect(answer.id).to.equal(1)
        expect(answer.error!.code).to.equal(code)
        expect(answer.error!.message).to.match(/\.$/)
      })
    }

    it('answers a ping', async () => {
      const { answer } = await postMessages(gateway, request('ping', undefined, 'p-1'))
      expect(answer).to.deep.equal({ jsonrpc: '2.0', id: 'p-1', result: {} })
    })

    for (const message of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } },
      { jsonrpc: '2.0', method: 'notifications/unheard-of', params: {} },
      { jsonrpc: '2.0', id: 1, result: {} },
      [{ jsonrpc: '2.0', method: 'notifications/initialized' }],
    ]) {
      it(`accepts ${JSON.stringify(message)} with an empty 202`, async () => {
        const response = await gateway.post('/mcp', message)
        expect([response.status, await response.text()]).to.deep.equal([202, ''])
      })
    }

    it('answers a batch as a batch', async () => {
      const { response, answers } = await postMessages(gateway, [
        request('ping', undefined, 1),
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        toolCall('list-image-models', {}, 'two'),
        { nonsense: true },
        request('nothing', undefined, 1),
      ])
      expect(response.status).to.equal(200)
      const outcome = answers.map(({ id, error }) => [id, error?.code])
      expect(outcome).to.have.deep.members([
        [1, undefined],
        ['two', undefined],
        [null, -32600],
        [1, -32601],
      ])
    })

    it('records each call of a batch in a separate row', async () => {
      const before = (await gateway.usage()).length
      const chat = { model: 'gpt-5.2', messages: [{ role: 'user', content: 'hi' }] }
      const batch = Array.from({ length: 20 }, (_, id) => toolCall('chat', chat, id))
      const { answers } = await postMessages(gateway, batch)
      expect(answers.filter(({ result }) => result?.isError === undefined)).to.have.length(20)
      const rows = (await gateway.usage()).slice(before)
      expect(rows).to.have.length(20)
      expect(rows.every(({ face }) => face === 'mcp')).to.equal(true)
    })

    it('complies with the contract', async () => {
      for (const body of [
        list,
        toolCall('list-image-models'),
        [list],
        { jsonrpc: '2.0', method: 'x' },
      ]) {
        const response = await gateway.post('/mcp', body)
        const { status, headers } = response
        const answer = { status, headers, text: await response.text() }
        expect(answerComplaints('postMcp', answer)).to.deep.equal([])
      }
    })
  })
})
