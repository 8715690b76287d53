import { Agent, get, type IncomingMessage, type RequestOptions } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openConnection, postHead, sendRaw } from '../support/raw-connection.ts'

const good = '{"model":"gpt-5-mini","messages":[{"role":"user","content":"hello"}]}'

describe('the HTTP server', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const unknown = [
    '/v2/models',
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1/chat',
    '/V1/models',
    '/.env',
    '/docs/a/b',
  ]
  for (const path of unknown) {
    it(`answers 404 for ${path}`, async () => {
      const response = await gateway.fetch(path)
      const expected = {
        status: 404,
        code: 'not_found',
        type: 'invalid_request_error',
        param: null,
      }
      await expectError(response, expected)
    })
  }

  const odd = [
    ['/v1/models/%ZZ', 'model_not_found'],
    ['/v1/models/%C0%AF', 'model_not_found'],
    ['/v1/models/%00', 'model_not_found'],
    ['/v1/models/..%2f..%2fetc%2fpasswd', 'model_not_found'],
    ['/docs/constructor', 'not_found'],
    ['/docs/__proto__', 'not_found'],
    ['/docs/..%2f..%2fpackage.json', 'not_found'],
  ] as const
  for (const [path, code] of odd) {
    it(`answers 404 for ${path}`, async () => {
      await expectError(await gateway.fetch(path), { status: 404, code })
    })
  }

  const methods = [
    ['PUT', '/v1/chat/completions', 'POST'],
    ['GET', '/v1/images/generations', 'POST'],
    ['DELETE', '/v1/models', 'HEAD, GET'],
    ['POST', '/health', 'HEAD, GET'],
  ] as const
  for (const [method, path, allow] of methods) {
    it(`answers 405 to ${method} ${path} with the allowed methods`, async () => {
      const response = await gateway.fetch(path, { method })
      await expectError(response, { status: 405, code: 'method_not_allowed' })
      expect(response.headers.get('allow')).to.equal(allow)
    })
  }

  for (const path of ['/v1/responses', '/v1/chat/completions']) {
    it(`answers 426 to a WebSocket on ${path}, and serves the connection on`, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const headers = { connection: 'Upgrade', upgrade: 'WebSocket' }
      const refusal = await answerTo(`${gateway.url}${path}`, { agent, headers })
      expect(refusal.head).to.include({ upgrade: 'HTTP/1.1', connection: 'upgrade', allow: 'POST' })
      expect(refusal.status).to.equal(426)
      expect(refusal.body).to.contain(`"message":"${path} has no WebSocket. It takes POST."`)
      const next = await answerTo(`${gateway.url}/health`, { agent })
      expect([next.status, next.port]).to.deep.equal([200, refusal.port])
      agent.destroy()
    })
  }

  it('answers HEAD like GET, without a body', async () => {
    const get = await gateway.fetch('/v1/models')
    const head = await gateway.fetch('/v1/models', { method: 'HEAD' })
    expect(head.status).to.equal(200)
    expect(await head.text()).to.equal('')
    expect(head.headers.get('content-length')).to.equal(get.headers.get('content-length'))
  })

  it('answers 405 to HEAD on a path without GET', async () => {
    const response = await gateway.fetch('/v1/chat/completions', { method: 'HEAD' })
    expect(response.status).to.equal(405)
    expect(response.headers.get('x-request-id')).to.match(/^req_/)
  })

  const queries = [
    ['limit=0', 'invalid_value', 'limit'],
    ['limit=many', 'invalid_value', 'limit'],
    ['include_deactivated=maybe', 'invalid_value', 'include_deactivated'],
    ['limt=2', 'unknown_parameter', 'limt'],
    ['limit=1&limit=2', 'invalid_value', 'limit'],
  ] as const
  for (const [query, code, param] of queries) {
    it(`refuses the query ${query}`, async () => {
      const response = await gateway.fetch(`/v1/models?${query}`)
      await expectError(response, { status: 400, code, param })
    })
  }

  it('ignores an unknown query parameter', async () => {
    for (const query of ['page=2', '__proto__=1', 'constructor=1', 'limit=']) {
      expect((await gateway.fetch(`/v1/models?${query}`)).status, query).to.equal(200)
    }
  })

  const headers = [
    ['x-gateway-strict', 'yes'],
    ['x-gateway-no-fallback', '1'],
    ['x-gateway-cache-ttl', 'forever'],
    ['x-gateway-cache-ttl', '-1'],
    ['x-gateway-cache-ttl', '86401'],
  ] as const
  for (const [name, value] of headers) {
    it(`refuses the header ${name}: ${value}`, async () => {
      const init = { headers: { [name]: value } }
      const response = await gateway.post('/v1/chat/completions', JSON.parse(good), init)
      await expectError(response, { status: 400, code: 'invalid_value', param: name })
    })
  }

  const garbage = [
    ['data that is not HTTP', 'hello there\r\n\r\n', 400, 'invalid_value'],
    ['a TLS handshake', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000', 400, 'invalid_value'],
    ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n', 400, 'invalid_value'],
    [
      'headers of 40 kB',
      `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(40_000)}\r\n\r\n`,
      431,
      'request_too_large',
    ],
    ['a URL of 40 kB', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\n\r\n`, 431, 'request_too_large'],
    [
      'two lengths that differ',
      'POST /v1/models HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!',
      400,
      'invalid_value',
    ],
    [
      'a content length with chunked encoding',
      'POST /v1/models HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'invalid_value',
    ],
  ] as const
  for (const [name, bytes, status, code] of garbage) {
    it(`answers ${status} to ${name}`, async () => {
      const answer = await sendRaw(gateway.url, bytes)
      const [head = '', body = ''] = answer.split('\r\n\r\n')
      expect(head).to.match(new RegExp(`^HTTP/1.1 ${status} `))
      expect(head).to.match(/\r\nx-request-id: req_[0-9a-f]{32}\r\n/)
      const { error } = JSON.parse(body) as { error: object }
      expect(error).to.include({ type: 'invalid_request_error', code, param: null })
      expect(Object.keys(error)).to.have.members(['message', 'type', 'param', 'code', 'request_id'])
    })
  }

  it('tolerates a connection that closes without a request', async () => {
    const socket = await openConnection(gateway.url)
    socket.resetAndDestroy()
    expect((await gateway.fetch('/health')).status).to.equal(200)
  })

  it('answers pipelined requests in order', async () => {
    const headers = { 'content-length': String(good.length) }
    const first = postHead('/v1/chat/completions', gateway.testKey, {
      ...headers,
      connection: 'keep-alive',
    })
    const second = 'GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    const answer = await sendRaw(gateway.url, `${first}${good}${second}`)
    expect(answer.indexOf('chat.completion')).to.be.greaterThan(0)
    expect(answer.indexOf('"status":"ok"')).to.be.greaterThan(answer.indexOf('chat.completion'))
  })

  it('gives each answer a unique request id', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.fetch('/health')))
    const ids = answers.map(({ headers }) => headers.get('x-request-id'))
    expect(new Set(ids).size).to.equal(20)
  })
})

async function answerTo(url: string, options: RequestOptions) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  get(url, options, resolve).on('error', reject)
  const answer = await promise
  const { statusCode: status, headers: head, socket } = answer
  return { status, head, port: socket.localPort, body: await text(answer) }
}
