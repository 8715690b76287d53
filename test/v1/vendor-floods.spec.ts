import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { wholeEvents } from '../../src/providers/wire/event-source.ts'
import { chunk, doneEvent, finishChunk, textChunk } from '../support/chat-answers.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { startEveryVendor, type EveryVendor } from '../support/every-vendor.ts'
import { cut } from '../support/spoken.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

const megabyte = 1_048_576
const limits = { requests_per_minute: 1_000_000 }
const bounds = {
  upstreamJsonBytesMax: megabyte,
  upstreamAnswerBytesMax: 2 * megabyte,
  upstreamEndTimeoutMs: 100,
}

/** Repeats the piece for as long as the gateway reads. */
function* forever(piece: string | Buffer): Generator<string | Buffer> {
  for (;;) yield piece
}
function* withStart(pieces: Iterable<string | Buffer>, first: readonly string[]) {
  yield* first
  yield* pieces
}
async function* drip(piece: string): AsyncGenerator<string> {
  for (;;) {
    yield piece
    await sleep(20)
  }
}
const repeated = (text: string, times = 65_536) => Buffer.from(text.repeat(times / text.length))

/** Streams that never end. */
const floods: Record<string, () => Iterable<string | Buffer>> = {
  'a line': () => forever(repeated('x')),
  'a line of data': () => withStart(forever(repeated('x')), ['data: ']),
  'an event of lines': () => forever(repeated('data: x\n')),
  'line ends': () => forever(repeated('\r')),
  comments: () => forever(repeated(': ping\n\n')),
  'named events': () => forever(repeated('event: other\ndata: {}\n\n')),
  'spaces in an event': () => withStart(forever(repeated(' ')), ['data: {"a":']),
}

/** Single events that are too large for a stream. */
const chunks: Record<string, string> = {
  'a hundred thousand choices': chunk({
    choices: Array.from({ length: 100_000 }, (_, index) => ({ index })),
  }),
  'ten thousand calls': chunk({
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: Array.from({ length: 9000 }, (_, index) => ({ index, id: `${index}` })),
        },
      },
    ],
  }),
  'an event of many lines': `${'data: \n'.repeat(100_000)}\n`,
  'levels without end': `data: {"choices":[],"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n\n`,
  'names without end': `data: {${Array.from({ length: 50_000 }, (_, at) => `"n${at}":1`).join(',')}}\n\n`,
  'members of many names': `data: {"a":[${Array.from({ length: 50_000 }, (_, at) => `{"n${at}":1}`).join(',')}]}\n\n`,
}

const models = { own: 'own/house-1', google: 'gemini-3.5-flash', anthropic: 'claude-sonnet-4-6' }
const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`
const firstEvents: Record<string, string[]> = {
  own: [textChunk('Fine.'), textChunk('Fine.')],
  google: [data({ candidates: [{ content: { parts: [{ text: 'Fine.' }] } }] })],
  anthropic: [
    data({ type: 'message_start', message: { usage: {} } }),
    data({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Fine.' } }),
  ],
}

describe('a vendor that sends too much', () => {
  let house: EveryVendor
  before(async () => {
    house = await startEveryVendor({ limits, bounds })
  })
  after(() => house.stop())

  const rows = () => house.gateway.usage()

  for (const [id, model] of Object.entries(models)) {
    for (const [name, flood] of Object.entries({ ...floods, ...chunks })) {
      if (id !== 'own' && name.endsWith('calls')) continue
      for (const begun of [false, true]) {
        it(`is disconnected for ${name} of ${id} ${begun ? 'in a stream' : 'at once'}`, async () => {
          const rowsBefore = (await rows()).length
          const first = begun ? firstEvents[id]! : []
          const pieces = typeof flood === 'string' ? [flood] : flood()
          house.upstream.answer({ pieces: withStart(pieces, first), hang: true })
          const response = await house.ask(model, true)
          const text = await response.text()
          expect(response.status).to.equal(begun ? 200 : 502)
          expect(text).to.contain(begun ? 'event: error' : '"provider_error"')
          expect(text.includes('Fine.')).to.equal(begun)
          const [row, ...others] = (await rows()).slice(rowsBefore)
          expect(others).to.deep.equal([])
          expect(row).to.include({ outcome: 'failed', error_code: 'provider_error' })
        })
      }
    }
  }

  it('is disconnected when it sends more after the end of the answer', async () => {
    const said = textChunk('and ').repeat(200)
    house.upstream.answer({ pieces: withStart(forever(said), [textChunk('Fine.'), finishChunk()]) })
    const text = await (await house.ask('own/house-1', true)).text()
    expect(text).to.contain('event: error')
    house.upstream.answer({ pieces: withStart(forever(said), [textChunk('Fine.'), doneEvent]) })
    const ended = await (await house.ask('own/house-1', true)).text()
    expect(ended)
      .to.contain('Fine.')
      .and.to.match(/data: \[DONE\]\n\n$/)
    expect(ended).to.not.contain('and ')
  })

  it('is disconnected for a whole answer that is too large', async () => {
    const headers = { 'content-type': 'application/json' }
    const bodies: ScriptedAnswer[] = [
      { body: 'x'.repeat(2 * megabyte), headers },
      { body: '['.repeat(100_000) + ']'.repeat(100_000) },
      {
        body: `{"choices":[{"message":{"content":"x","annotations":${'['.repeat(50_000)}${']'.repeat(50_000)}}}]}`,
      },
      { body: `{"choices":[${'{},'.repeat(100_000)}{}]}` },
      { body: `{"choices":[${'{"message":{}},'.repeat(2000)}{}]}` },
      { body: `{${Array.from({ length: 50_000 }, (_, at) => `"n${at}":1`).join(',')}}` },
      { body: gzipSync(Buffer.alloc(megabyte)), headers: { 'content-encoding': 'gzip' } },
      { body: 'data: x\n'.repeat(200_000), headers },
      { body: ': ping\n\n'.repeat(200_000), headers },
    ]
    for (const [at, answer] of bodies.entries()) {
      house.upstream.answer(answer)
      for (const model of Object.values(models)) {
        const response = await house.ask(model, false)
        expect(response.status, `${at} ${model}`).to.equal(502)
        expect(await response.text()).to.contain('provider_error')
      }
    }
  })

  it('is disconnected for an error that does not end', async () => {
    const said = (rest: Iterable<string | Buffer> | AsyncIterable<string>): ScriptedAnswer => ({
      status: 400,
      pieces: rest,
      hang: true,
    })
    for (const model of Object.values(models)) {
      for (const stream of [false, true]) {
        for (const pieces of [() => forever(repeated('No. ')), () => drip('No. ')]) {
          house.upstream.answer(said(pieces()))
          const response = await house.ask(model, stream)
          expect(response.status).to.equal(400)
          const text = await response.text()
          if (model === models.own) expect(text).to.contain('No. No.')
          const [request] = house.upstream.requests
          await request!.closed
          expect(request!.aborted).to.equal(true)
        }
      }
    }
  })

  const packings = {
    gzip: gzipSync,
    deflate: deflateSync,
    br: brotliCompressSync,
    zstd: zstdCompressSync,
  }
  for (const [encoding, pack] of Object.entries(packings)) {
    const headers = { 'content-encoding': encoding }
    const packed = (status: number, text: string | Buffer, type: string): ScriptedAnswer =>
      inHalves(status, pack(text), type)
    const inHalves = (status: number, bytes: Buffer, type: string): ScriptedAnswer => {
      const half = Math.ceil(bytes.length / 2)
      const pieces = [bytes.subarray(0, half), bytes.subarray(half)]
      return { status, pieces, headers: { ...headers, 'content-type': type } }
    }

    it(`may compress with ${encoding} an answer, a stream and an error`, async () => {
      const ended = { content: { parts: [{ text: 'Packed.' }] }, finishReason: 'STOP' }
      const streams = {
        [models.own]: [textChunk('Packed.'), finishChunk(), doneEvent].join(''),
        [models.google]: data({ candidates: [ended] }),
      }
      for (const [model, events] of Object.entries(streams)) {
        house.upstream.answer(packed(200, events, 'text/event-stream'))
        const streamed = await (await house.ask(model, true)).text()
        expect(streamed).to.contain('Packed.').and.to.contain('data: [DONE]')
      }
      const message = { role: 'assistant', content: 'Packed.' }
      const whole = JSON.stringify({ choices: [{ message, finish_reason: 'stop' }] })
      house.upstream.answer(packed(200, whole, 'application/json'))
      const answer = await (await house.ask(models.own, false)).json()
      expect(answer).to.have.nested.property('choices[0].message.content', 'Packed.')
      house.upstream.answer(packed(400, '{"error":{"message":"Packed."}}', 'application/json'))
      for (const stream of [false, true]) {
        const refused = await (await house.ask(models.own, stream)).json()
        expect(refused).to.have.nested.property('error.message', 'Packed.')
      }
    })

    it(`is disconnected when ${encoding} content unpacks to too many bytes or is invalid`, async () => {
      const zeros = pack(Buffer.alloc(64 * megabyte))
      for (const stream of [false, true]) {
        for (const status of [200, 400]) {
          house.upstream.answer(inHalves(status, zeros, 'text/event-stream'))
          const response = await house.ask(models.own, stream)
          expect(response.status).to.equal(status === 200 ? 502 : 400)
          await response.text()
        }
        house.upstream.answer({ body: '{"choices":[]}', headers })
        expect((await house.ask(models.own, stream)).status).to.equal(502)
      }
    })
  }

  it('may skip indexes of tool calls: the list has no holes', async () => {
    const call = (index: unknown, id: string) => ({ index, id, function: { name: 'f' } })
    for (const index of [1_000_000_000, -1, 0.5, '7', null, 2 ** 53]) {
      const calls = [call(index, 'call_1')]
      const delta = { role: 'assistant', tool_calls: calls }
      house.upstream.answer({
        pieces: [chunk({ choices: [{ index: 0, delta }] }), finishChunk('tool_calls'), doneEvent],
      })
      const text = await (await house.ask('own/house-1', true)).text()
      expect(text).to.contain('"tool_calls":[{"index":0,"id":"call_1"')
      expect(text).to.match(/data: \[DONE\]\n\n$/)
    }
  })

  it('cannot add choices with invalid indexes', async () => {
    for (const index of [1_000_000_000, -1, 0.5, '__proto__']) {
      const delta = { role: 'assistant', content: 'Fine.' }
      house.upstream.answer({
        pieces: [chunk({ choices: [{ index, delta }] }), finishChunk(), doneEvent],
      })
      const text = await (await house.ask('own/house-1', true)).text()
      expect(text).to.contain('"choices":[{"index":0').and.to.not.contain('event: error')
      const candidate = { index, content: { parts: [{ text: 'Fine.' }] }, finishReason: 'STOP' }
      house.upstream.answer({ pieces: [data({ candidates: [candidate] })] })
      expect((await house.ask(models.google, true)).status).to.equal(502)
    }
    expect([]).to.not.have.property('begun')
  })

  it('may send its stream byte by byte', async () => {
    const events = `data: {"choices":[],"a":"${'x'.repeat(20_000)}"}\r\n\r\n${textChunk('Fine.')}`
    const pieces = cut(Buffer.from(events + finishChunk() + doneEvent), [1, 7])
    for (const model of ['own/house-1', 'gpt-4.1']) {
      house.upstream.answer({ pieces })
      const text = await (await house.ask(model, true)).text()
      expect(text)
        .to.contain('Fine.')
        .and.to.match(/data: \[DONE\]\n\n$/)
    }
  })

  it('takes CPU time linear in the length of an event', () => {
    const piece = repeated('data: x\n')
    const { push } = wholeEvents(16 * megabyte, () => undefined)
    const ms = cpuMs(() => {
      for (let bytes = 0; bytes < 15 * megabyte; bytes += piece.length) push(piece)
    })
    expect(ms).to.be.below(2000)
    expect(() => {
      for (let bytes = 0; bytes < 2 * megabyte; bytes += piece.length) push(piece)
    }).to.throw('too large')
  })
})
