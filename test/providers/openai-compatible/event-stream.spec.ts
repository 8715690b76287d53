import { expect } from 'chai'
import fc from 'fast-check'
import { uncounted } from '../../../src/bytes/memory-budget.ts'
import type { OpenAnswer } from '../../../src/providers/transport/upstream.ts'
import {
  doneEvent,
  finishChunk,
  roleChunk,
  textChunk,
  usageChunk,
} from '../../support/chat-answers.ts'
import { readChunks, readText } from '../../support/event-stream.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../../support/own-endpoint.ts'
import { startOpenAiStream } from '../../support/started-stream.ts'
import { openAiComplaints } from '../../support/openai-facts.ts'

const path = '/v1/chat/completions'
const counts = { prompt_tokens: 9, completion_tokens: 4 }
const hardTexts = ['[DONE]', '"error"', '"usage":{', '\n\n', 'data: x', '狐 😀', '\\"', ':', '']

/** A random valid stream, and the expected text and token counts. */
const streams = fc
  .record({
    words: fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom(...hardTexts)), {
      minLength: 1,
      maxLength: 8,
    }),
    windows: fc.boolean(),
    comments: fc.boolean(),
    nullUsage: fc.boolean(),
    lean: fc.boolean(),
    padded: fc.boolean(),
    usagePlace: fc.constantFrom('finish', 'own', 'none'),
    done: fc.boolean(),
  })
  .map(({ words, windows, comments, nullUsage, lean, padded, usagePlace, done }) => {
    const rest = { ...(nullUsage && { usage: null }), ...(padded && { obfuscation: 'aB"1' }) }
    const said = (text: string) => (lean ? text.replaceAll(',"finish_reason":null', '') : text)
    const events = [
      ...words.map((word) => said(textChunk(word, rest))),
      finishChunk('stop', usagePlace === 'finish' ? { usage: counts } : rest),
      ...(usagePlace === 'own' ? [usageChunk(counts)] : []),
      ...(done ? [doneEvent] : []),
    ]
    const text = events.join(comments ? ': processing\n\n' : '')
    const bytes = Buffer.from(windows ? text.replaceAll('\n', '\r\n') : text)
    return { bytes, said: words.join(''), counted: usagePlace !== 'none' }
  })

/** The same streams, cut at random bytes. */
const cutStreams = streams.chain((stream) =>
  fc
    .uniqueArray(fc.integer({ min: 1, max: stream.bytes.length - 1 }), { maxLength: 40 })
    .map((cuts) => ({ ...stream, pieces: cut(stream.bytes, cuts) })),
)

describe('an event stream, cut anywhere', () => {
  it('yields the same text and counts', async () => {
    await fc.assert(
      fc.asyncProperty(cutStreams, async ({ pieces, said, counted }) => {
        const { text, usage } = await forward(pieces)
        expect(readText(text)).to.equal(said)
        expect(openAiComplaints(path, { status: 200, type: 'text/event-stream', text })).to.be.empty
        expect(usage?.inputTokens).to.equal(counted ? 9 : undefined)
        expect(readChunks(text).filter((one) => one.usage)).to.deep.equal([])
      }),
      { numRuns: 300 },
    )
  })

  it('yields the same when each byte arrives alone', async () => {
    const events = [roleChunk, textChunk('狐 '), textChunk(' 狐'), finishChunk(), doneEvent]
    const bytes = Buffer.from(events.join(''))
    const { text } = await forward(Array.from(bytes, (byte) => Buffer.from([byte])))
    expect(text).to.equal(events.slice(0, -1).join(''))
  })

  it('refuses an event that has no end', async () => {
    const endless = Array<Buffer>(40).fill(Buffer.alloc(1000, 'x'))
    const broken = await forward([Buffer.from(textChunk('one')), ...endless], 10_000).catch(String)
    expect(broken).to.contain('too large')
  })
})

describe('an event stream, cut anywhere, on its way through the gateway', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint()
  })
  after(() => own.stop())

  it('delivers the same text to the caller', async () => {
    await fc.assert(
      fc.asyncProperty(cutStreams, async ({ pieces, said, counted }) => {
        own.upstream.answer({ pieces })
        const body = { stream: true, stream_options: { include_usage: true } }
        const response = await own.chat(body, { headers: { 'cache-control': 'no-store' } })
        const text = await response.text()
        expect(readText(text)).to.equal(said)
        expect(text.endsWith(doneEvent)).to.equal(true)
        const [row] = (await own.gateway.usage()).slice(-1)
        expect(row!.outcome).to.equal('ok')
        if (counted) expect(row!.input_tokens).to.equal(9)
      }),
      { numRuns: 60 },
    )
  })
})

function cut(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [0, ...cuts.sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end))
}

/** Forwards an answer that arrives in these pieces; returns what the caller receives. */
async function forward(pieces: Buffer[], answerBytesMax = 1_000_000) {
  const written: Buffer[] = []
  const { forward } = await startOpenAiStream(answerOf(pieces), answerBytesMax)
  const end = await forward({
    write: (events) => written.push(events) > 0,
    onDrain: () => undefined,
  })
  return { text: Buffer.concat(written).toString(), usage: end.usage }
}

/** An answer that stops at pause() and continues at resume(), like a connection. */
function answerOf(pieces: Buffer[]): OpenAnswer {
  let running: PromiseWithResolvers<void> | undefined
  let broken: Error | undefined
  return {
    head: { status: 200, headers: { 'content-type': 'text/event-stream' } },
    memory: uncounted,
    peek: () => pieces[0],
    each: async (onPiece) => {
      for (const piece of pieces) {
        await running?.promise
        if (broken !== undefined) throw broken
        onPiece(piece)
      }
      if (broken !== undefined) throw broken
    },
    pause: () => {
      running ??= Promise.withResolvers()
    },
    resume: () => {
      running?.resolve()
      running = undefined
    },
    abort: (reason) => {
      broken = reason
    },
    endWithin: () => undefined,
  }
}
