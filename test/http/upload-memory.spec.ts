import { once } from 'node:events'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { bufferedBytes, nothingBuffered } from '../support/buffered.ts'
import { completion } from '../support/chat-answers.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { openConnection, postHead } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'

const kibibyte = 1024
const path = '/v1/chat/completions'
/** New requests may use three quarters of this memory. */
const limits = { buffered_bytes_max: 1024 * kibibyte }
const bounds = { lingerTimeoutMs: 50 }

/** An upload that announces `bytes` and sends nothing; `answer` resolves to the response. */
async function announce(url: string, key: string, bytes: number) {
  const socket = await openConnection(url)
  let text = ''
  socket.on('data', (piece: Buffer) => (text += piece.toString()))
  socket.write(postHead(path, key, { 'content-length': String(bytes) }))
  const answer = async () => {
    if (!socket.closed) await once(socket, 'close')
    return text
  }
  return { socket, answer }
}

describe('incomplete uploads', () => {
  let own: OwnEndpoint
  let others: string[]
  const open: Socket[] = []
  before(async () => {
    own = await startOwnEndpoint({ limits, bounds: { ...bounds, slowPeerGraceMs: 60_000 } })
    const { gateway } = own
    others = await Promise.all(
      ['one', 'two'].map(async () =>
        gateway.createKey('live', { accountId: await gateway.createAccount() }),
      ),
    )
  })
  after(() => own.stop())
  afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy()
    await nothingBuffered(own.gateway)
  })

  async function hold(key: string, bytes: number): Promise<void> {
    const before = await bufferedBytes(own.gateway)
    const { socket } = await announce(own.gateway.url, key, bytes)
    open.push(socket)
    await until('it is held', async () => (await bufferedBytes(own.gateway)) > before)
  }

  it('reserve the memory that they announce', async () => {
    await hold(others[0]!, 500 * kibibyte)
    expect(await bufferedBytes(own.gateway)).to.equal(500 * kibibyte)
  })

  it('leave memory to other accounts: an account beyond its share gets 429', async () => {
    await hold(others[0]!, 500 * kibibyte)
    const refused = await (await announce(own.gateway.url, others[0]!, 150 * kibibyte)).answer()
    expect(refused).to.match(/^HTTP\/1\.1 429 /)
    expect(refused).to.match(/\r\nretry-after: 1\r\n/i)
    expect(refused).to.contain('"code":"rate_limit_exceeded"')
    await hold(others[1]!, 150 * kibibyte)
  })

  it('are refused with 503 before they are read when memory is exhausted', async () => {
    await hold(others[0]!, 500 * kibibyte)
    await hold(others[1]!, 180 * kibibyte)
    const refused = await (await announce(own.gateway.url, own.gateway.liveKey, 99e3)).answer()
    expect(refused).to.match(/^HTTP\/1\.1 503 /)
    expect(refused).to.match(/\r\nretry-after: 1\r\n/i)
    expect(refused).to.contain('"code":"overloaded"')
    own.upstream.answer(completion('Hi.'))
    expect((await own.chat()).status).to.equal(200)
  })

  it('are refused with 413 when they exceed the whole memory', async () => {
    const refused = await (await announce(own.gateway.url, others[0]!, 600 * kibibyte)).answer()
    expect(refused).to.match(/^HTTP\/1\.1 413 /)
  })

  it('without a length are counted as they arrive, compressed ones after decompression', async () => {
    await hold(others[0]!, 500 * kibibyte)
    const body = Buffer.from(JSON.stringify({ messages: ' '.repeat(400 * kibibyte) }))
    for (const [encoding, bytes] of [
      ['identity', body],
      ['gzip', gzipSync(body)],
    ] as const) {
      const socket = await openConnection(own.gateway.url)
      let text = ''
      socket.on('data', (piece: Buffer) => (text += piece.toString()))
      const headers = { 'transfer-encoding': 'chunked', 'content-encoding': encoding }
      socket.write(postHead(path, others[1]!, headers))
      socket.write(`${bytes.length.toString(16)}\r\n`)
      socket.write(bytes)
      await once(socket, 'close')
      expect(text, encoding).to.match(/^HTTP\/1\.1 429 /)
    }
  })
})

describe('an upload that pauses', () => {
  it('gets 408 after the timeout', async () => {
    await using own = await startOwnEndpoint({
      limits,
      bounds: { ...bounds, slowPeerGraceMs: 20, requestIdleTimeoutMs: 60 },
    })
    const { answer } = await announce(own.gateway.url, own.gateway.liveKey, 100 * kibibyte)
    const text = await answer()
    expect(text).to.match(/^HTTP\/1\.1 408 /)
    expect(text).to.contain('"code":"timeout"')
    await nothingBuffered(own.gateway)
  })

  it('loses its memory only when an active upload needs it', async () => {
    await using own = await startOwnEndpoint({ limits, bounds: { ...bounds, slowPeerGraceMs: 20 } })
    const { gateway, upstream } = own
    upstream.answer(completion('Hi.'))
    const paused = await announce(gateway.url, gateway.liveKey, 500 * kibibyte)
    await until('it is held', async () => (await bufferedBytes(gateway)) > 0)
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(paused.socket.closed).to.equal(false)
    const answered = await own.chat({
      messages: [{ role: 'user', content: 'x'.repeat(200 * kibibyte) }],
    })
    expect(answered.status).to.equal(200)
    expect(await paused.answer()).to.match(/^HTTP\/1\.1 408 /)
    await answered.text()
    await nothingBuffered(gateway)
  })
})
