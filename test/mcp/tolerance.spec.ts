import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import {
  connectClient,
  postMessages,
  textOf,
  toolCall,
  type RpcAnswer,
} from '../support/mcp-client.ts'
import { sendRaw } from '../support/raw-connection.ts'

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

describe('requests of real clients to /mcp are accepted:', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const post = async (body: string, headers: Record<string, string> = {}, path = '/mcp') => {
    const response = await gateway.fetch(path, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    })
    const text = await response.text()
    return { status: response.status, text, answer: JSON.parse(text || '{}') as RpcAnswer }
  }

  const lists: [method: string, member: string][] = [
    ['prompts/list', 'prompts'],
    ['resources/list', 'resources'],
    ['resources/templates/list', 'resourceTemplates'],
  ]
  for (const [method, member] of lists) {
    it(`${method}, with an empty list`, async () => {
      const { answer } = await post(`{"jsonrpc":"2.0","id":1,"method":"${method}"}`)
      expect(answer).to.deep.equal({ jsonrpc: '2.0', id: 1, result: { [member]: [] } })
    })
  }

  it('the SDK reports missing capabilities', async () => {
    const client = await connectClient(gateway)
    expect(client.getServerCapabilities()).to.have.all.keys('tools', 'logging')
    expect(await client.listPrompts()).to.deep.equal({ prompts: [] })
    const asked = client.complete({
      ref: { type: 'ref/prompt', name: 'x' },
      argument: { name: 'y', value: '' },
    })
    expect(await asked.catch((error: Error) => error.message)).to.match(/only tools|not support/)
    await client.close()
  })

  const nulls = [
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":null,"_meta":null}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list-models","arguments":null}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list-models","arguments":{"limit":null},"_meta":{"progressToken":null}}}',
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":null,"capabilities":null,"clientInfo":null}}',
  ]
  const empties = [
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":[],"cursor":""}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list-models","arguments":[],"_meta":[]}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list-models","arguments":""}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list-models","arguments":"{\\"limit\\":1}"}}',
  ]
  for (const body of empties) {
    it(`empty lists and JSON in a string for objects: ${body.slice(24)}`, async () => {
      const { status, answer } = await post(body)
      expect([status, answer.error]).to.deep.equal([200, undefined])
      expect(answer.result?.isError).to.equal(undefined)
    })
  }

  describe('arguments of tools', () => {
    const call = async (name: string, args: object) => {
      const { answer } = await postMessages(gateway, toolCall(name, args))
      expect(answer.result?.isError, JSON.stringify(answer)).to.equal(undefined)
      return textOf(answer.result!)
    }
    const hello = [{ role: 'user', content: 'hello' }]

    it('with JSON in a string where the schema has another type', async () => {
      const messages = JSON.stringify(hello)
      const args = { model: 'gpt-5-mini', messages, temperature: '0.5', max_tokens: '100' }
      expect(await call('chat', args)).to.contain('gpt-5-mini')
      const inner = [JSON.stringify(hello[0])]
      expect(await call('chat', { model: 'gpt-5-mini', messages: inner })).to.contain('gpt-5-mini')
      const two = { prompt: '[1, 2]', n: '2', fresh: 'false' }
      expect(await call('generate-image', two)).to.match(/^2 pictures/)
      expect(await call('list-models', { limit: '1', include_deactivated: 'null' })).to.match(/^# /)
    })

    it('with texts that stay texts', async () => {
      const content = '{"role":"user"}'
      const messages = [{ role: 'user', content: `Read ${content}` }]
      expect(await call('chat', { model: 'gpt-5-mini', messages })).to.contain('role')
    })

    it('with an empty string for an argument that is not set', async () => {
      const unset = { prompt: 'A fox', size: '', quality: '', model: '' }
      expect(await call('generate-image', unset)).to.match(/^1 picture/)
      expect(await call('list-models', { family: '' })).to.match(/^# Language Models/)
    })

    it('with members of the client, which are named in the result', async () => {
      const chat = {
        model: 'gpt-5-mini',
        messages: [{ ...hello[0], id: 'msg-1' }],
        toolCallId: 'call_1',
        task_progress: '- [ ] chat',
      }
      const note =
        "Ignored arguments, which this tool does not have: 'messages[0].id', 'toolCallId'"
      expect(await call('chat', chat)).to.contain(`${note}, 'task_progress'.`)
      expect(await call('list-image-models', { sessionId: 'x' })).to.match(/have: 'sessionId'\.$/)
      const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`zz${at}`, at]))
      expect(await call('list-models', many)).to.match(/'zz9' and 20 more\.$/)
    })
  })

  for (const body of nulls) {
    it(`null for absent members: ${body.slice(24)}`, async () => {
      const { status, answer } = await post(body)
      expect([status, answer.error]).to.deep.equal([200, undefined])
    })
  }

  it('a notification with an id of null, which gets no answer', async () => {
    const notification = '{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}'
    const { status, text } = await post(notification)
    expect([status, text]).to.deep.equal([202, ''])
  })

  for (const path of ['/mcp/', '/mcp?', '/mcp?api-version=1&x', '/mcp/?a=b']) {
    it(`the address ${path}`, async () => {
      const { answer } = await post(ping, {}, path)
      expect(answer.result).to.deep.equal({})
    })
  }

  const types = [
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'Application/JSON',
  ]
  const accepts = [
    '*/*',
    'application/json',
    'text/event-stream',
    'text/event-stream, application/json;q=0.5',
    'text/html',
    '',
  ]
  const rows: Record<string, string>[] = [
    ...types.map((type) => ({ 'content-type': type })),
    ...accepts.map((accept) => ({ accept })),
  ]
  for (const headers of rows) {
    it(JSON.stringify(headers), async () => {
      const { status, answer } = await post(ping, headers)
      expect([status, answer.result]).to.deep.equal([200, {}])
    })
  }

  describe('a header that is sent twice', () => {
    const send = (...headers: string[]) => {
      const lines = [
        'POST /mcp HTTP/1.1',
        'host: gateway',
        `authorization: Bearer ${gateway.testKey}`,
        'content-type: application/json',
        `content-length: ${ping.length}`,
        'connection: close',
        ...headers,
      ]
      return sendRaw(gateway.url, `${lines.join('\r\n')}\r\n\r\n${ping}`)
    }
    it('counts once if both values are equal, for the version and the session', async () => {
      const version = 'mcp-protocol-version: 2025-11-25'
      expect(await send(version, version)).to.match(/^HTTP\/1.1 200 /)
      const begun = await gateway.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'initialize' })
      const session = `mcp-session-id: ${begun.headers.get('mcp-session-id')}`
      expect(await send(version, session, session)).to.match(/^HTTP\/1.1 200 /)
    })

    it('is refused with two versions', async () => {
      const answer = await send(
        'mcp-protocol-version: 2025-11-25',
        'mcp-protocol-version: 2024-11-05',
      )
      expect(answer).to.match(/^HTTP\/1.1 400 /)
      expect(answer).to.contain("'mcp-protocol-version' must name one revision")
    })

    it('is refused with two sessions', async () => {
      const ids = await Promise.all(
        [1, 2].map(async (id) => {
          const begun = await gateway.post('/mcp', { jsonrpc: '2.0', id, method: 'initialize' })
          return `mcp-session-id: ${begun.headers.get('mcp-session-id')}`
        }),
      )
      expect(await send(...ids)).to.match(/^HTTP\/1.1 404 /)
    })
  })

  describe('ids', () => {
    const ids = [
      '0',
      '-1',
      '9007199254740991',
      '1.0',
      '""',
      '"9007199254740993"',
      '"é\\u0000\\ud83d\\ude00"',
      `"${'x'.repeat(256)}"`,
    ]
    for (const id of ids) {
      it(`${id.slice(0, 40)} is returned unchanged`, async () => {
        const { answer } = await post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)
        expect(answer).to.deep.equal({ jsonrpc: '2.0', id: JSON.parse(id) as unknown, result: {} })
      })
    }

    const refused: [id: string, says: string][] = [
      ['9007199254740993', 'at most 9007199254740991'],
      ['-9007199254740993', 'at least -9007199254740991'],
      ['1e400', 'out of range'],
      ['1.5', 'in quotes'],
      ['true', 'a string or an integer'],
      ['{}', 'a string or an integer'],
      ['null', 'a string or an integer'],
      [`"${'x'.repeat(10_000)}"`, 'at most 256 characters'],
    ]
    for (const [id, says] of refused) {
      it(`${id.slice(0, 40)} is refused, since it could not be returned unchanged`, async () => {
        const { status, answer } = await post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)
        expect([status, answer.id, answer.error!.code]).to.deep.equal([400, null, -32600])
        expect(answer.error!.message).to.contain(says)
      })
    }
  })
})
