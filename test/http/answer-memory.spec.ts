import { once } from 'node:events'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import fc from 'fast-check'
import { bufferedBytes, nothingBuffered } from '../support/buffered.ts'
import { completion, doneEvent, finishChunk, refusal, textChunk } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { openConnection, postHead } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

const kibibyte = 1024
const mebibyte = 1024 * kibibyte
const path = '/v1/chat/completions'

/** An answer of `bytes`. Only an announced answer has a content length; most vendors send none. */
const longAnswer = (bytes: number, isAnnounced: boolean): ScriptedAnswer => {
  const { body } = completion('x'.repeat(bytes))
  const whole = Buffer.from(JSON.stringify(body))
  const length: Record<string, string> = isAnnounced
    ? { 'content-length': String(whole.length) }
    : {}
  return { body: whole, headers: { 'content-type': 'application/json', ...length } }
}

/** Sends a request and does not read the answer. */
async function askUnread(own: OwnEndpoint, members: object): Promise<Socket> {
  const socket = await openConnection(own.gateway.url)
  socket.pause()
  const body = JSON.stringify({ model: 'own/house-1', messages: hello, ...members })
  const length = String(Buffer.byteLength(body))
  socket.write(postHead(path, own.gateway.liveKey, { 'content-length': length }) + body)
  return socket
}

describe('answers that no client reads', () => {
  for (const [what, members, answer] of [
    ['in one piece', {}, longAnswer(9 * mebibyte, true)],
    ['of an unknown length', {}, longAnswer(9 * mebibyte, false)],
    ['streamed', { stream: true }, { pieces: Array(200).fill(textChunk('x'.repeat(64_000))) }],
  ] as const) {
    it(`stay within the memory limit, and are aborted in favor of clients that read: ${what}`, async () => {
      const most = 60 * mebibyte
      await using own = await startOwnEndpoint({
        limits: { buffered_bytes_max: most },
        bounds: { slowPeerGraceMs: 50 },
      })
      own.upstream.answer(answer)
      const asked = await Promise.all(
        Array.from({ length: 6 }, (_, seed) => askUnread(own, { ...members, seed })),
      )
      let peak = 0
      await until('all have been answered', async () => {
        peak = Math.max(peak, await bufferedBytes(own.gateway))
        const rows = (await own.gateway.usage()).length
        return peak > 0 && ('stream' in members || rows === own.upstream.requests.length)
      })
      expect(peak).to.be.within(1, most)
      own.upstream.answer(completion('Hi.'))
      expect((await own.chat({ seed: 8 })).status).to.equal(200)
      for (const socket of asked) socket.destroy()
      await nothingBuffered(own.gateway)
    })
  }

  it('abort a stream, as when its caller disconnects, when others need the memory', async () => {
    await using own = await startOwnEndpoint({
      limits: { buffered_bytes_max: mebibyte },
      bounds: { slowPeerGraceMs: 50 },
    })
    own.upstream.answer({ pieces: Array(500).fill(textChunk('x'.repeat(60_000))) })
    const socket = await askUnread(own, { stream: true })
    await until('it is not read', async () => (await bufferedBytes(own.gateway)) > 40 * kibibyte)
    own.upstream.answer(completion('Hi.'))
    const content = 'x'.repeat(330 * kibibyte)
    await until('there is room', async () => {
      return (await own.chat({ messages: [{ role: 'user', content }] })).status === 200
    })
    await until('it is recorded', async () => {
      return (await own.gateway.usage()).some(({ outcome }) => outcome === 'cancelled')
    })
    socket.destroy()
    await nothingBuffered(own.gateway)
  })
})

describe('answers of a provider', () => {
  it('wait for memory, and all of them arrive', async () => {
    await using own = await startOwnEndpoint({ limits: { buffered_bytes_max: 4 * mebibyte } })
    for (const isAnnounced of [true, false]) {
      own.upstream.answer(longAnswer(700 * kibibyte, isAnnounced))
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, seed) => {
          const answer = await own.chat({ seed })
          return { status: answer.status, bytes: (await answer.arrayBuffer()).byteLength }
        }),
      )
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(20).fill(200))
      for (const { bytes } of answers) expect(bytes).to.be.greaterThan(700 * kibibyte)
      await nothingBuffered(own.gateway)
    }
  })

  for (const [how, members, isAnnounced] of [
    ['with a content length', {}, true],
    ['without a content length', {}, false],
    ['in answer to a stream', { stream: true }, false],
  ] as const) {
    it(`are 503 without a retry or a failed route when they exceed the memory, ${how}`, async () => {
      await using own = await startOwnEndpoint({
        limits: { buffered_bytes_max: mebibyte, route_tries_max: 2 },
        bounds: { circuitFailuresMax: 1 },
      })
      own.upstream.answer(longAnswer(2 * mebibyte, isAnnounced))
      for (const seed of [1, 2]) {
        const refused = await own.chat({ ...members, seed })
        await expectError(refused, { status: 503, code: 'overloaded' })
        expect(refused.headers.get('retry-after')).to.equal('1')
        expect(refused.headers.get('x-gateway-attempts')).to.equal('own=no_memory')
      }
      expect(own.upstream.requests).to.have.length(2)
      const rows = await own.gateway.usage()
      expect(rows.map(({ outcome, error_code: code }) => [outcome, code])).to.deep.equal([
        ['failed', 'overloaded'],
        ['failed', 'overloaded'],
      ])
      await nothingBuffered(own.gateway)
    })
  }

  it('free their memory when their try has failed', async () => {
    await using own = await startOwnEndpoint({ limits: { buffered_bytes_max: 4 * mebibyte } })
    own.upstream.answer({ ...longAnswer(300 * kibibyte, false), reset: 'after' })
    expect((await own.chat()).status).to.equal(502)
    await nothingBuffered(own.gateway)
  })
})

/** The ways in which a call can end, by name. */
const endings = {
  answered: async (own: OwnEndpoint, seed: number) => {
    await (await own.chat({ seed })).text()
  },
  refusedBody: async (own: OwnEndpoint) => {
    await (await own.chat({ temperature: 'x'.repeat(40_000) })).text()
  },
  left: async (own: OwnEndpoint, seed: number) => {
    const leaving = new AbortController()
    const answer = own.chat({ seed }, { signal: leaving.signal }).then((one) => one.text())
    setTimeout(() => leaving.abort(), seed % 20)
    await answer.catch(() => undefined)
  },
  leftUpload: async (own: OwnEndpoint, seed: number) => {
    const socket = await openConnection(own.gateway.url)
    socket.write(postHead(path, own.gateway.liveKey, { 'content-length': '60000' }))
    socket.write(Buffer.alloc(seed % 60_000, ' '))
    await new Promise((resolve) => setTimeout(resolve, seed % 10))
    socket.resetAndDestroy()
  },
  pausedUpload: async (own: OwnEndpoint) => {
    const socket = await openConnection(own.gateway.url)
    socket.write(postHead(path, own.gateway.liveKey, { 'content-length': '60000' }))
    expect(await text(socket)).to.match(/^HTTP\/1\.1 (408|429|503) /)
  },
  notJson: async (own: OwnEndpoint) => {
    const socket = await openConnection(own.gateway.url)
    const head = { 'content-length': '50000' }
    socket.write(postHead(path, own.gateway.liveKey, head) + '{'.repeat(50_000))
    expect(await text(socket)).to.match(/^HTTP\/1\.1 (400|429|503) /)
  },
  unread: async (own: OwnEndpoint, seed: number) => {
    const socket = await askUnread(own, { seed, stream: seed % 2 === 0 })
    await new Promise((resolve) => setTimeout(resolve, 20))
    socket.destroy()
    if (!socket.closed) await once(socket, 'close')
  },
  tool: async ({ gateway }: OwnEndpoint, seed: number) => {
    const call = { name: 'chat', arguments: { model: 'own/house-1', message: `m ${seed}` } }
    const message = { jsonrpc: '2.0', id: seed, method: 'tools/call', params: call }
    const headers = { accept: 'application/json, text/event-stream' }
    await (await gateway.post('/mcp', message, { key: gateway.liveKey, headers })).text()
  },
}
const names = Object.keys(endings) as (keyof typeof endings)[]

/** Scripted answers of the provider. */
const scripts: readonly ScriptedAnswer[] = [
  longAnswer(80 * kibibyte, true),
  longAnswer(80 * kibibyte, false),
  { pieces: [...Array(4).fill(textChunk('x'.repeat(30_000))), finishChunk(), doneEvent] },
  { pieces: [`data: {"choices":[{"delta":{"content":"${'x'.repeat(70_000)}`] },
  { ...longAnswer(80 * kibibyte, false), reset: 'after' },
  { reset: 'before' },
  refusal(500),
  { ...longAnswer(3 * mebibyte, true) },
  { body: 'x'.repeat(100_000) },
]

describe('after any mix of outcomes', () => {
  it('no memory is held', async () => {
    await using own = await startOwnEndpoint({
      limits: { buffered_bytes_max: mebibyte },
      bounds: {
        slowPeerGraceMs: 20,
        requestIdleTimeoutMs: 40,
        lingerTimeoutMs: 10,
        retryDelayMs: 1,
      },
    })
    own.upstream.answer((_request, index) => scripts[index % scripts.length]!)
    const ending = fc.record({ name: fc.constantFrom(...names), seed: fc.nat({ max: 100_000 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(ending, { minLength: 1, maxLength: 12 }), async (all) => {
        await Promise.all(all.map(({ name, seed }) => endings[name](own, seed)))
        await nothingBuffered(own.gateway)
      }),
      { numRuns: 10 },
    )
  })
})
