import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openConnection, postHead, sendRaw } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'
import { pixelFile } from '../support/pixel.ts'

const path = '/v1/chat/completions'
const good = '{"model":"gpt-5-mini","messages":[{"role":"user","content":"hello"}]}'
const mebibyte = 1024 * 1024
const pack: Record<string, (text: string | Buffer) => Buffer> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
}

describe('compressed request bodies', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({ file: { limits: { request_bytes_max: mebibyte } } })
  })
  after(() => gateway.stop())

  const post = (body: Buffer, encoding: string, type = 'application/json') =>
    gateway.fetch(path, {
      method: 'POST',
      body: new Uint8Array(body),
      headers: { 'content-type': type, 'content-encoding': encoding },
    })

  for (const [encoding, packed] of Object.entries(pack)) {
    it(`are read as ${encoding}`, async () => {
      const response = await post(packed(good), encoding)
      expect(response.status, await response.text()).to.equal(200)
    })

    it(`are refused as ${encoding} once they unpack to too many bytes, and are not kept`, async () => {
      const bomb = packed(Buffer.alloc(64 * mebibyte, 0x20))
      expect(bomb.length).to.be.lessThan(mebibyte)
      const before = process.memoryUsage().arrayBuffers
      let most = 0
      const watch = setInterval(() => {
        most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      }, 1)
      const response = await post(bomb, encoding)
      clearInterval(watch)
      await expectError(response, { status: 413, code: 'request_too_large' })
      expect(most).to.be.lessThan(32 * mebibyte)
    })

    it(`are refused as ${encoding} when they are invalid or truncated`, async () => {
      const param = 'content-encoding'
      for (const body of [Buffer.from(good), packed(good).subarray(0, -12)]) {
        const response = await post(body, encoding)
        await expectError(response, { status: 400, code: 'invalid_value', param })
      }
    })
  }

  it('are read with the encoding name in any case', async () => {
    expect((await post(gzipSync(good), 'GZIP')).status).to.equal(200)
    expect((await post(Buffer.from(good), 'identity')).status).to.equal(200)
  })

  it('may contain the form of an edit or a message to the tool server', async () => {
    const form = new FormData()
    form.append('prompt', 'a fox')
    form.append('image', pixelFile)
    const written = new Response(form)
    const edit = await gateway.fetch('/v1/images/edits', {
      method: 'POST',
      body: new Uint8Array(gzipSync(Buffer.from(await written.arrayBuffer()))),
      headers: {
        'content-type': written.headers.get('content-type')!,
        'content-encoding': 'gzip',
      },
    })
    expect(edit.status).to.equal(200)
    const message = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    const answer = await gateway.fetch('/mcp', {
      method: 'POST',
      body: new Uint8Array(gzipSync(message)),
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    })
    expect(await answer.text()).to.include('"tools":[')
  })

  it('are refused in an unsupported encoding, with the supported ones', async () => {
    for (const encoding of ['compress', 'gzip, gzip', 'toString']) {
      const response = await post(Buffer.from(good), encoding)
      const param = 'content-encoding'
      const expected = { status: 415, code: 'unsupported_media_type', param }
      const { message } = await expectError(response, expected)
      expect(message).to.include('gzip').and.to.include('br')
      expect(message).to.include(`'${encoding}' is not supported. Use one of: identity, `)
    }
  })

  it('are refused when their compressed size is too large, even if they unpack to nothing', async () => {
    const empty = gzipSync('')
    const many = Buffer.concat(Array.from({ length: 60_000 }, () => empty))
    expect(many.length).to.be.greaterThan(mebibyte)
    const head = postHead(path, gateway.testKey, {
      'transfer-encoding': 'chunked',
      'content-encoding': 'gzip',
    })
    const size = `${many.length.toString(16)}\r\n`
    const body = Buffer.concat([Buffer.from(head + size), many, Buffer.from('\r\n0\r\n\r\n')])
    const answer = await sendRaw(gateway.url, body)
    expect(answer).to.match(/^HTTP\/1\.1 413 /)
  })

  it('are released when the caller disconnects', async () => {
    const socket = await openConnection(gateway.url)
    const head = { 'content-length': '1000', 'content-encoding': 'gzip' }
    socket.write(postHead(path, gateway.testKey, head))
    socket.write(gzipSync(good).subarray(0, 20))
    expect((await gateway.fetch('/health')).status).to.equal(200)
    socket.destroy()
    await until('the log has the request', () => gateway.logText().includes('"status":499'))
  })
})
