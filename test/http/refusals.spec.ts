import { once } from 'node:events'
import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { holdAnswer } from '../support/held-answer.ts'
import { startOwnEndpoint } from '../support/own-endpoint.ts'
import { openConnection, sendRaw } from '../support/raw-connection.ts'

const host = 'host: gateway\r\n'
const listModels = 'GET /v1/models HTTP/1.1\r\n'
/** Bytes that would be answered with 200 if the server parsed them as a request. */
const smuggled = `GET /health HTTP/1.1\r\n${host}\r\n`

describe('an invalid request', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const many = Array.from({ length: 300 }, (_, index) => `x-${index}: 1\r\n`).join('')
  const chunked = `POST /v1/chat/completions HTTP/1.1\r\n${host}transfer-encoding: chunked\r\n`
  const rows: [name: string, bytes: string, status: number, param?: string][] = [
    ['an invalid URL', `GET http://[ HTTP/1.1\r\n${host}\r\n`, 400],
    ['a URL of another scheme', `GET ftp://gateway/v1/models HTTP/1.1\r\n${host}\r\n`, 400],
    ['a path without its slash', `GET v1/models HTTP/1.1\r\n${host}\r\n`, 400],
    ['an asterisk', `GET * HTTP/1.1\r\n${host}\r\n`, 400],
    ['no host', `${listModels}\r\n`, 400, 'host'],
    ['two hosts', `${listModels}${host}Host: other\r\n\r\n`, 400, 'host'],
    ['an invalid host', `${listModels}host: a b/c\r\n\r\n`, 400, 'host'],
    ['an expectation', `${listModels}${host}expect: a-miracle\r\n\r\n`, 417, 'expect'],
    ['300 headers', `${listModels}${host}${many}\r\n`, 431],
    [
      'a body that is compressed and chunked',
      `POST /v1/chat/completions HTTP/1.1\r\n${host}transfer-encoding: gzip, chunked\r\n\r\n` +
        `0\r\n\r\n${smuggled}`,
      501,
      'transfer-encoding',
    ],
    [
      'a transfer coding that does not end in chunked',
      `POST /v1/chat/completions HTTP/1.1\r\n${host}transfer-encoding: gzip\r\n\r\n${smuggled}`,
      501,
      'transfer-encoding',
    ],
    [
      'chunks in HTTP/1.0',
      `POST /v1/chat/completions HTTP/1.0\r\n${host}transfer-encoding: chunked\r\n\r\n` +
        `0\r\n\r\n${smuggled}`,
      400,
      'transfer-encoding',
    ],
    ['chunk extensions of 40 kB', `${chunked}\r\n5;${'x'.repeat(40_000)}\r\nhello\r\n`, 413],
    ['a URL of 1 MB', `GET /${'x'.repeat(1_000_000)} HTTP/1.1\r\n${host}\r\n`, 431],
    ['CONNECT', `CONNECT gateway:443 HTTP/1.1\r\n${host}\r\n${smuggled}`, 501],
    ['an unknown method', `BREW /pot HTTP/1.1\r\n${host}\r\n`, 501],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0', 505],
    ['HTTP/3', `GET / HTTP/3.0\r\n${host}\r\n`, 505],
    ['TLS', '\u0016\u0003\u0001\u0002\0\u0001\0\u0001\u00fc\u0003\u0003', 400],
  ]
  for (const [name, bytes, status, param = null] of rows) {
    it(`is answered once, with ${status}: ${name}`, async () => {
      const answer = await sendRaw(gateway.url, Buffer.from(bytes, 'latin1'))
      const [head = '', body = '', ...more] = answer.split('\r\n\r\n')
      expect(head).to.match(new RegExp(`^HTTP/1.1 ${status} `))
      expect(head).to.match(/\r\nconnection: close(\r\n|$)/i)
      const id = /\r\nx-request-id: (req_[0-9a-f]{32})(\r\n|$)/.exec(head)?.[1]
      const { error } = JSON.parse(body) as { error: { param: string | null; message: string } }
      expect(Object.keys(error)).to.have.members(['message', 'type', 'param', 'code', 'request_id'])
      expect(error.param).to.equal(param)
      expect(more).to.deep.equal([])
      const logged = gateway.logText().split(`"requestId":"${id}"`)
      expect(logged, 'it is logged once').to.have.length(2)
      expect(logged[1]).to.match(new RegExp(`^[^\\n]*"status":${status}[,}]`))
    })
  }

  it('is reported to pages of other origins as well', async () => {
    const origin = 'origin: https://app.example\r\n'
    const answer = await sendRaw(
      gateway.url,
      `${listModels}${host}${origin}expect: a-miracle\r\n\r\n`,
    )
    expect(answer).to.match(/\r\naccess-control-allow-origin: \*\r\n/i)
  })

  it('gets a message that explains TLS or HTTP', async () => {
    const hello = Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])
    expect(await sendRaw(gateway.url, hello)).to.contain('Use http://.')
  })

  it('does not end the gateway when its client resets the connection', async () => {
    const resetting = [
      `CONNECT gateway:443 HTTP/1.1\r\n${host}\r\n`,
      `GET / HTTP/1.1\r\n${host}connection: upgrade\r\nupgrade: websocket\r\n\r\n`,
      `BREW /pot HTTP/1.1\r\n${host}\r\n`,
    ]
    for (const bytes of resetting) {
      const socket = await openConnection(gateway.url)
      socket.write(bytes)
      await once(socket, 'data')
      socket.resetAndDestroy()
    }
    expect((await gateway.fetch('/health')).status).to.equal(200)
  })
})

describe('a request that is unusual', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const close = 'connection: close\r\n\r\n'
  const rows: [name: string, bytes: string, head: RegExp][] = [
    ['a URL', `GET http://any/health HTTP/1.1\r\n${host}${close}`, /^HTTP\/1\.1 200 /],
    ['a URL without a path', `GET http://any?x HTTP/1.1\r\n${host}${close}`, /^HTTP\/1\.1 302 /],
    [
      'the server as a whole',
      `OPTIONS * HTTP/1.1\r\n${host}${close}`,
      /^HTTP\/1\.1 204 [\s\S]*\r\nallow: [A-Z, ]*GET/i,
    ],
    [
      'an unsupported upgrade',
      `GET /health HTTP/1.1\r\n${host}upgrade: websocket\r\nconnection: upgrade, close\r\n\r\n`,
      /^HTTP\/1\.1 200 /,
    ],
    ['HTTP/1.0 without a host', 'GET /health HTTP/1.0\r\n\r\n', /^HTTP\/1\.1 200 /],
    ['TRACE', `TRACE /health HTTP/1.1\r\n${host}${close}`, /^HTTP\/1\.1 405 /],
    ['PROPFIND', `PROPFIND /v1/models HTTP/1.1\r\n${host}${close}`, /^HTTP\/1\.1 405 /],
  ]
  for (const [name, bytes, head] of rows) {
    it(`is answered: ${name}`, async () => {
      const answer = await sendRaw(gateway.url, bytes)
      expect(answer).to.match(head)
      expect(answer.split('HTTP/1.1 ')).to.have.length(2)
      expect(answer).to.match(/\r\nx-request-id: req_/)
    })
  }
})

describe('invalid bytes after a valid request', () => {
  it('are refused after its answer, which stays whole', async () => {
    await using own = await startOwnEndpoint()
    const held = await holdAnswer(own, `${smuggled}nonsense\r\n`)
    await own.gateway.fetch('/health')
    expect(held.text()).to.equal('')
    held.answer()
    await once(held.socket, 'close')
    expect(held.text().match(/HTTP\/1\.1 \d+/g)).to.deep.equal([
      'HTTP/1.1 200',
      'HTTP/1.1 200',
      'HTTP/1.1 400',
    ])
    expect(held.text()).to.match(
      /"Hello\."[\s\S]*"status":"ok"[\s\S]*"This is not an HTTP request\."/,
    )
  })
})
