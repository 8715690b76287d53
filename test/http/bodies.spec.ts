import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { uncounted } from '../../src/bytes/memory-budget.ts'
import { receiveWhole } from '../../src/http/read-body.ts'
import { completion } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import type { CallOptions } from '../support/gateway.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { openConnection, postHead, sendRaw } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'

const path = '/v1/chat/completions'
const good = '{"model":"gpt-5-mini","messages":[{"role":"user","content":"hello"}]}'
const deep = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000)
const withField = (json: string) => good.replace('{', `{"metadata":${json},`)
const mebibyte = 1024 * 1024

describe('request bodies', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({
      limits: { request_timeout_ms: 3000 },
      bounds: { lingerTimeoutMs: 300 },
    })
    own.upstream.answer(completion('Hi.'))
  })
  after(() => own.stop())
  const post = (body: RequestInit['body'], init: CallOptions = {}) =>
    own.gateway.fetch(path, {
      method: 'POST',
      body,
      ...init,
      headers: { 'content-type': 'application/json', ...init.headers },
    })

  const rows: {
    name: string
    body: string | Uint8Array<ArrayBuffer>
    headers?: Record<string, string>
    status: number
    code: string
  }[] = [
    { name: 'no body', body: '', status: 400, code: 'invalid_json' },
    { name: 'half a body', body: good.slice(0, 30), status: 400, code: 'invalid_json' },
    { name: 'a word', body: 'hello', status: 400, code: 'invalid_json' },
    { name: 'two bodies', body: good + good, status: 400, code: 'invalid_json' },
    {
      name: 'two byte order marks',
      body: `\uFEFF\uFEFF${good}`,
      status: 400,
      code: 'invalid_json',
    },
    {
      name: 'bytes that are not UTF-8',
      body: new Uint8Array(Buffer.from(good.replace('hello', 'h\u00e9llo'), 'latin1')),
      status: 400,
      code: 'invalid_json',
    },
    {
      name: 'arrays a hundred thousand levels deep',
      body: withField(deep('[', ']')),
      status: 400,
      code: 'invalid_value',
    },
    {
      name: 'objects a hundred thousand levels deep',
      body: withField(deep('{"a":', '}').replace(':}', ':1}')),
      status: 400,
      code: 'invalid_value',
    },
    {
      name: 'deep nesting that is kept out of the cache',
      body: withField(deep('[', ']')),
      headers: { 'cache-control': 'no-store' },
      status: 400,
      code: 'invalid_value',
    },
    {
      name: 'another content type',
      body: good,
      headers: { 'content-type': 'text/html' },
      status: 415,
      code: 'unsupported_media_type',
    },
    {
      name: 'a form',
      body: 'model=gpt-5-mini',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      status: 415,
      code: 'unsupported_media_type',
    },
    {
      name: 'another charset',
      body: good,
      headers: { 'content-type': 'application/json; charset=iso-8859-1' },
      status: 415,
      code: 'unsupported_media_type',
    },
  ]
  for (const { name, body, headers = {}, status, code } of rows) {
    it(`refuses ${name}`, async () => {
      await expectError(await post(body, { headers }), {
        status,
        code,
        type: 'invalid_request_error',
      })
    })
  }

  it('are read as JSON without a content type', async () => {
    const response = await own.gateway.fetch(path, { method: 'POST', body: Buffer.from(good) })
    expect(response.status).to.equal(200)
  })

  it('reads JSON after a byte order mark', async () => {
    expect((await post(`\uFEFF${good}`)).status).to.equal(200)
  })

  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json; charset=utf8',
    'application/problem+json',
    'text/json',
    'text/plain; charset=utf-8',
    'application/json, application/json',
    'application/json; charset=utf-8 ,application/json; charset=utf-8',
  ]) {
    it(`reads ${type}`, async () => {
      const response = await post(good, { headers: { 'content-type': type } })
      expect(response.status).to.equal(200)
    })
  }

  it('reads a repeated content type', async () => {
    const lines = 'content-type: application/json\r\n'
    const head = postHead(path, own.gateway.testKey, { 'content-length': String(good.length) })
    const twice = head.replace(lines, lines + lines)
    expect(await sendRaw(own.gateway.url, twice + good)).to.match(/^HTTP\/1.1 200 /)
    const form = new FormData()
    form.set('model', 'gpt-image-2')
    const { headers } = new Request('http://localhost', { method: 'POST', body: form })
    const type = headers.get('content-type')!
    const response = await own.gateway.fetch('/v1/images/edits', {
      method: 'POST',
      body: '--x--\r\n',
      headers: { 'content-type': `${type}, ${type}` },
    })
    // The status is 400, because the form is well-formed but lacks required fields.
    expect(response.status).to.equal(400)
  })

  it('passes on a member called __proto__ as an ordinary member', async () => {
    const body = good.replace('gpt-5-mini', 'own/x').replace('{', '{"__proto__":{"polluted":1},')
    const response = await post(body, { key: own.gateway.liveKey })
    expect(response.status).to.equal(200)
    expect(JSON.stringify(own.upstream.requests.at(-1)!.body)).to.contain('"__proto__"')
    expect(({} as { polluted?: number }).polluted).to.equal(undefined)
  })

  it('merges many small chunks into few', async () => {
    const server = createServer((request, response) => {
      const limits = {
        requestBytesMax: mebibyte,
        requestIdleTimeoutMs: 1000,
      }
      void receiveWhole(request, uncounted, limits).then(({ length }) =>
        response.end(`in ${length}`),
      )
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const chunks = Array.from(good, (byte) => `1\r\n${byte}\r\n`).join('')
    const head = postHead(path, 'any', { 'transfer-encoding': 'chunked' })
    const answer = await sendRaw(`http://127.0.0.1:${port}`, `${head}${chunks}0\r\n\r\n`)
    expect(answer).to.match(/\r\n\r\nin 1$/)
    server.close()
  })

  it('refuses 60 MB at once when the length is announced', async () => {
    const startedAt = performance.now()
    const body = new Uint8Array(60_000_000).fill(0x20)
    await expectError(await post(body), { status: 413, code: 'request_too_large', param: null })
    // Far less than the timeout of a body, also on a busy machine.
    expect(performance.now() - startedAt).to.be.lessThan(30_000)
  })

  it('refuses an announced length before any of it is sent', async () => {
    const head = postHead(path, own.gateway.testKey, { 'content-length': '60000000' })
    const answer = await sendRaw(own.gateway.url, head)
    expect(answer).to.match(/^HTTP\/1\.1 413 /)
  })

  it('stops reading 60 MB of unknown length at the limit, without keeping them', async () => {
    await using small = await startOwnEndpoint({ limits: { request_bytes_max: mebibyte } })
    const piece = new Uint8Array(mebibyte).fill(0x20)
    let pieces = 0
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (++pieces > 60) controller.close()
        else controller.enqueue(piece)
      },
    })
    const before = process.memoryUsage().arrayBuffers
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', body, headers, duplex: 'half' } as CallOptions
    const response = await small.gateway.fetch(path, init).catch(() => undefined)
    const grown = process.memoryUsage().arrayBuffers - before
    if (response !== undefined) {
      await expectError(response, { status: 413, code: 'request_too_large' })
    }
    expect(grown).to.be.lessThan(30 * mebibyte)
  })

  it('checks the key before it reads the body', async () => {
    const head = postHead(path, 'mag_test_wrong', { 'content-length': '1000000' })
    const answer = await sendRaw(own.gateway.url, head)
    expect(answer).to.match(/^HTTP\/1\.1 401 /)
  })

  it('reads the rest of a refused upload, so that the client receives the answer', async () => {
    await using patient = await startOwnEndpoint()
    const size = 8 * mebibyte
    const socket = await openConnection(patient.gateway.url)
    const failures: unknown[] = []
    socket.on('error', (error) => failures.push(error))
    let answer = ''
    socket.on('data', (piece: Buffer) => (answer += piece.toString()))
    socket.write(postHead(path, 'mag_test_wrong', { 'content-length': String(size) }))
    await until('the answer is there', () => answer.endsWith('}}'))
    const startedAt = performance.now()
    socket.write(Buffer.alloc(size))
    await until('the connection is closed', () => socket.closed)
    expect(failures).to.deep.equal([])
    expect(answer).to.match(/^HTTP\/1\.1 401 /)
    expect(socket.bytesWritten).to.be.greaterThan(size)
    expect(performance.now() - startedAt).to.be.lessThan(1500)
  })

  it('releases an upload whose caller disconnects', async () => {
    const socket = await openConnection(own.gateway.url)
    socket.write(postHead(path, own.gateway.testKey, { 'content-length': '1000' }))
    socket.write(good.slice(0, 20))
    // The answer to a later request shows that the gateway has begun to read.
    expect((await own.gateway.fetch('/health')).status).to.equal(200)
    socket.destroy()
    await until('the log has the request', () => own.gateway.logText().includes('"left":true'))
    const line = own.gateway
      .logText()
      .split('\n')
      .find((one) => one.includes('"left":true'))!
    expect(JSON.parse(line)).to.include({ level: 'info', path, status: 499, msg: 'request' })
  })

  it('releases requests whose callers disconnect during the key lookup', async () => {
    await using slow = await startOwnEndpoint({ bounds: { keyCacheMs: 0 } })
    const head = postHead(path, slow.gateway.testKey, { 'content-length': '1000' })
    const leaving = Array.from({ length: 20 }, async () => {
      const socket = await openConnection(slow.gateway.url)
      socket.write(head + good.slice(0, 20), () => socket.destroy())
    })
    await Promise.all(leaving)
    await until('the log has all requests', () => {
      return slow.gateway.logText().split('"status":499').length === 21
    })
  })

  it('answers 408 to a body that never arrives', async () => {
    await using impatient = await startOwnEndpoint({ limits: { request_timeout_ms: 100 } })
    const head = postHead(path, impatient.gateway.testKey, { 'content-length': '1000' })
    const answer = await sendRaw(impatient.gateway.url, head)
    expect(answer).to.match(/^HTTP\/1\.1 408 /)
    expect(answer).to.contain('"timeout_error"')
  })

  it('answers a valid request after all invalid ones', async () => {
    expect((await post(good)).status).to.equal(200)
  })
})
