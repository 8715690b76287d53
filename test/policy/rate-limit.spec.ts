import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { callTool, connectClient, textOf } from '../support/mcp-client.ts'
import { hello } from '../support/own-endpoint.ts'
import { startPublicHost } from '../support/public-host.ts'

const body = { model: 'gpt-5-mini', messages: hello }

describe('the limit of requests per minute', () => {
  let shared: TestGateway
  let gateway: TestGateway
  before(async () => {
    shared = await startGateway({ file: { limits: { requests_per_minute: 3 } } })
  })
  beforeEach(async () => {
    gateway = await shared.inNewAccount()
  })
  after(() => shared.stop())
  const ask = (key = gateway.testKey) => gateway.post('/v1/chat/completions', body, { key })
  const spend = async () => {
    for (let turn = 0; turn < 3; turn++) expect((await ask()).status).to.equal(200)
  }

  const sendText = (path: string, text: string, type = 'application/json') =>
    gateway.fetch(path, { method: 'POST', body: text, headers: { 'content-type': type } })

  it('refuses further requests with the time to wait', async () => {
    await spend()
    const response = await ask()
    const error = await expectError(response, {
      status: 429,
      code: 'rate_limit_exceeded',
      type: 'rate_limit_error',
      param: null,
    })
    const seconds = Number(response.headers.get('retry-after'))
    expect(seconds).to.be.within(1, 60)
    expect(error.message).to.contain(`${seconds} s`)
    expect(response.headers.get('x-ratelimit-remaining-requests')).to.equal('0')
    expect(response.headers.get('x-ratelimit-reset-requests')).to.equal(`${seconds}s`)
    expect(response.headers.get('ratelimit')).to.equal(`"requests-per-account";r=0;t=${seconds}`)
  })

  it('counts cache hits, and records no row for a refusal', async () => {
    await spend()
    await ask()
    const rows = await gateway.usage()
    expect(rows.map(({ cache }) => cache)).to.deep.equal(['miss', 'hit', 'hit'])
  })

  it('counts all keys of an account together', async () => {
    await spend()
    expect((await ask(await gateway.createKey('test'))).status).to.equal(429)
  })

  it('does not affect other accounts', async () => {
    await spend()
    const key = await gateway.createKey('test', { accountId: await gateway.createAccount() })
    expect((await ask(key)).status).to.equal(200)
  })

  it('is exact for simultaneous requests', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask()))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).to.have.length(3)
    expect(statuses.filter((status) => status === 429)).to.have.length(17)
  })

  it('does not count requests that call no model', async () => {
    for (let turn = 0; turn < 5; turn++) {
      expect((await gateway.fetch('/v1/models')).status).to.equal(200)
    }
    await spend()
  })

  const malformed: { name: string; send: () => Promise<Response> }[] = [
    {
      name: 'invalid JSON',
      send: () => sendText('/v1/chat/completions', '{"model":'),
    },
    {
      name: 'a chat without messages',
      send: () => gateway.post('/v1/chat/completions', { model: 'gpt-5-mini' }),
    },
    {
      name: 'a chat whose tool result has no call',
      send: () => {
        const messages = [...hello, { role: 'tool', tool_call_id: 'call_1', content: 'Yes.' }]
        return gateway.post('/v1/chat/completions', { model: 'gpt-5-mini', messages })
      },
    },
    {
      name: 'a request for too many pictures',
      send: () => gateway.post('/v1/images/generations', { prompt: 'a fox', n: 1000 }),
    },
    {
      name: 'an edit as plain text',
      send: () => sendText('/v1/images/edits', 'a fox', 'text/plain'),
    },
    {
      name: 'a wrong header',
      send: () => {
        const headers = { 'x-gateway-strict': 'perhaps' }
        return gateway.post('/v1/chat/completions', body, { headers })
      },
    },
    { name: 'invalid JSON to the tool server', send: () => sendText('/mcp', '{"jsonrpc":') },
    {
      name: 'an invalid message to the tool server',
      send: () => sendText('/mcp', '{"jsonrpc":"2.0"}'),
    },
    { name: 'a batch without a message in it', send: () => sendText('/mcp', '[1, 2]') },
    {
      name: 'a message of the tool server that contradicts its headers',
      send: () => {
        const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
        const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'chat' } }
        return gateway.post('/mcp', message, { headers })
      },
    },
  ]
  for (const { name, send } of malformed) {
    it(`counts malformed requests: ${name}`, async () => {
      for (let turn = 0; turn < 3; turn++) expect((await send()).status).to.not.equal(429)
      expect((await send()).status).to.equal(429)
      expect((await ask()).status).to.equal(429)
    })
  }

  it('counts malformed tool arguments, and an accepted request once', async () => {
    const client = await connectClient(gateway, gateway.testKey)
    const wrong = () => callTool(client, 'chat', { messages: 'Hello' })
    const first = await wrong()
    expect(first.isError).to.equal(true)
    const unknown = { model: 'gpt-9-nothing', messages: hello }
    const response = await gateway.post('/v1/chat/completions', unknown)
    expect(response.headers.get('x-ratelimit-remaining-requests')).to.equal('1')
    await wrong()
    expect(textOf(await wrong())).to.contain('may make 3 requests a minute')
    await client.close()
  })

  const refused: { name: string; params: object }[] = [
    { name: 'a tool that does not exist', params: { name: 'draw', arguments: {} } },
    { name: 'arguments that are not an object', params: { name: 'chat', arguments: 'Hello' } },
    {
      name: 'an invalid key',
      params: { name: 'chat', arguments: {}, _meta: { idempotencyKey: 7 } },
    },
  ]
  for (const { name, params } of refused) {
    it(`counts malformed tool calls: ${name}`, async () => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
      const send = async () => (await gateway.post('/mcp', message)).text()
      for (let turn = 0; turn < 3; turn++) expect(await send()).to.contain('"code":-32602')
      expect(await send()).to.contain('may make 3 requests a minute')
      expect((await ask()).status).to.equal(429)
    })
  }

  it('prevents fetching of pictures for a caller over the limit', async () => {
    const host = await startPublicHost()
    const file = { limits: { requests_per_minute: 1 } }
    const limited = await startGateway({ publicNet: host.net, file })
    const model = 'gemini-3-pro-image-preview'
    const url = host.address('/nothing.png')
    const content = [
      { type: 'text', text: 'Bluer' },
      { type: 'image_url', image_url: { url } },
    ]
    const edit = () =>
      limited.post('/v1/images/edits', { model, prompt: 'Bluer', images: [{ image_url: url }] })
    const chat = () =>
      limited.post('/v1/chat/completions', { model, messages: [{ role: 'user', content }] })
    try {
      await expectError(await edit(), { status: 400, code: 'image_fetch_failed' })
      await expectError(await edit(), { status: 429, code: 'rate_limit_exceeded' })
      await expectError(await chat(), { status: 429, code: 'rate_limit_exceeded' })
      expect(host.requests).to.have.length(1)
    } finally {
      await limited.stop()
      await host.stop()
    }
  })
})
