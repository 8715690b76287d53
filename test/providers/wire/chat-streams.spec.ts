import { expect } from 'chai'
import fc from 'fast-check'
import { uncounted } from '../../../src/bytes/memory-budget.ts'
import type { ChatStream } from '../../../src/core/chat/chat.ts'
import { ProviderFailure } from '../../../src/core/failure.ts'
import type { CatalogModel } from '../../../src/core/model.ts'
import { readPrices } from '../../../src/core/money/price.ts'
import { translator as anthropic } from '../../../src/providers/anthropic/chat-stream.ts'
import { translator as gemini } from '../../../src/providers/google/chat-stream.ts'
import type { OpenAnswer } from '../../../src/providers/transport/upstream.ts'
import { ownTexts } from '../../../src/providers/transport/vendor-texts.ts'
import { forwardedStream } from '../../../src/providers/wire/forwarded-stream.ts'
import {
  translatingReader,
  type Translator,
} from '../../../src/providers/wire/translated-stream.ts'
import { anthropicEvents } from '../../support/anthropic-answers.ts'
import { readChunks } from '../../support/event-stream.ts'
import { geminiEvents } from '../../support/gemini-upstream.ts'
import { openAiEvents } from '../../support/openai-upstream.ts'
import { cut, type Spoken } from '../../support/spoken.ts'
import { startOpenAiStream } from '../../support/started-stream.ts'

type Wire = {
  name: string
  model: string
  events(spoken: Spoken): string[]
  start(answer: OpenAnswer): Promise<ChatStream>
  error: string
}
const noRequest = { model: '', messages: [] }
const limits = { answerBytesMax: 4_000_000, jsonBytesMax: 1_000_000, endTimeoutMs: 1 }
const options = {
  createdSeconds: 1,
  upstreamModel: 'some',
  texts: ownTexts,
  tokensMax: { input: 1e9, output: 1e9 },
}
const row = { id: 'some' } as CatalogModel
const model = { row, prices: readPrices({ pricing: {} }), undescribed: false }
const target = { model, provider: { id: 'google' }, upstreamModel: 'some' }
const counted = { stream_options: { include_usage: true } }

function translated(answer: OpenAnswer, translator: Translator): Promise<ChatStream> {
  return forwardedStream(answer, limits, translatingReader(translator, limits.jsonBytesMax))
}

const wires: Wire[] = [
  {
    name: 'OpenAI',
    model: 'gpt-4.1',
    events: (spoken) => openAiEvents(spoken, { model: 'gpt-4.1', ...counted }),
    start: (answer) => startOpenAiStream(answer, limits.jsonBytesMax),
    error: 'data: {"error":{"message":"Down.","code":503}}\n\n',
  },
  {
    name: 'Anthropic',
    model: 'claude-sonnet-4-6',
    events: (spoken) => anthropicEvents(spoken, 'claude-sonnet-4-6'),
    start: (answer) =>
      translated(
        answer,
        anthropic({ ...options, request: noRequest, answerBytesMax: limits.answerBytesMax }),
      ),
    error:
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Down."}}\n\n',
  },
  {
    name: 'Gemini',
    model: 'gemini-3.5-flash',
    events: (spoken) => geminiEvents(spoken, 'gemini-3.5-flash'),
    start: (answer) => translated(answer, gemini({ ...options, request: noRequest, target })),
    error: 'data: {"error":{"code":503,"message":"Down.","status":"UNAVAILABLE"}}\n\n',
  },
]

/** An answer that arrives in these pieces, each in its own microtask. */
function answerOf(pieces: readonly Buffer[]): OpenAnswer {
  let aborted: ProviderFailure | undefined
  return {
    head: { status: 200, headers: { 'content-type': 'text/event-stream' } },
    memory: uncounted,
    peek: () => pieces[0],
    each: async (onPiece) => {
      for (const piece of pieces) {
        if (aborted !== undefined) throw aborted
        onPiece(piece)
        await Promise.resolve()
      }
      if (aborted !== undefined) throw aborted
    },
    pause: () => undefined,
    resume: () => undefined,
    abort: (reason) => {
      aborted ??= reason
    },
    endWithin: () => undefined,
  }
}

/** The deltas and the end that a caller receives for a stream in these pieces. */
async function receive({ start }: Wire, pieces: readonly Buffer[]) {
  const written: Buffer[] = []
  const sink = { write: (piece: Buffer) => written.push(piece) > 0, onDrain: () => undefined }
  let end: unknown
  try {
    end = await (await start(answerOf(pieces))).forward(sink)
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    end = error.kind
  }
  const chunks = readChunks(Buffer.concat(written).toString())
  const deltas = chunks.flatMap(({ choices }) => choices)
  return { deltas, end }
}

const text = fc.string({ unit: 'binary', maxLength: 12 }).filter((piece) => piece !== '')
const args = fc.dictionary(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.string({ unit: 'grapheme' }),
  {
    maxKeys: 3,
  },
)
const spokenThings: fc.Arbitrary<Spoken> = fc.record(
  {
    text: fc.array(text, { minLength: 1, maxLength: 6 }),
    reasoning: fc.array(text, { minLength: 1, maxLength: 3 }),
    // Ids of calls are unique, because the gateway gives the second of two equal ids a random id.
    calls: fc.uniqueArray(
      fc.record({ id: fc.stringMatching(/^call_[a-z]{3}$/), name: fc.constant('look'), args }),
      { maxLength: 2, selector: ({ id }) => id },
    ),
  },
  { requiredKeys: ['text'] },
)
const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })

for (const wire of wires) {
  describe(`a stream of ${wire.name}`, () => {
    it('yields the same deltas wherever it is cut', () =>
      fc.assert(
        fc.asyncProperty(spokenThings, lengths, async (spoken, pieces) => {
          const bytes = Buffer.from(wire.events(spoken).join(''))
          const whole = await receive(wire, [bytes])
          expect(await receive(wire, cut(bytes, pieces))).to.deep.equal(whole)
          expect(await receive(wire, cut(bytes, [1]))).to.deep.equal(whole)
          const said = whole.deltas.map(({ delta }) => delta.content ?? '').join('')
          expect(said).to.equal(spoken.text!.join(''))
        }),
        { numRuns: 60 },
      ))

    it('delivers all chunks before an error, and then the error', () =>
      fc.assert(
        fc.asyncProperty(lengths, async (pieces) => {
          const events = wire.events({ text: ['one', 'two'] })
          const bytes = Buffer.from(events.slice(0, -2).join('') + wire.error)
          const { deltas, end } = await receive(wire, cut(bytes, pieces))
          const said = deltas.map(({ delta }) => delta.content ?? '').join('')
          expect(end).to.equal('overloaded')
          expect('onetwo'.startsWith(said) && said.startsWith('one')).to.equal(true)
        }),
        { numRuns: 40 },
      ))

    it('pauses while the caller’s sink is full', async () => {
      const bytes = Buffer.from(wire.events({ text: ['one', 'two', 'three'] }).join(''))
      const answer = answerOf(cut(bytes, [64]))
      const calls: string[] = []
      const watched: OpenAnswer = {
        ...answer,
        pause: () => void calls.push('pause'),
        resume: () => void calls.push('resume'),
      }
      const drains: (() => void)[] = []
      const stream = await wire.start(watched)
      calls.length = 0
      await stream.forward({ write: () => false, onDrain: (listener) => drains.push(listener) })
      expect(calls).to.deep.equal(['pause'])
      drains[0]!()
      expect(calls).to.deep.equal(['pause', 'resume'])
    })

    it('fails when it ends too early', async () => {
      const events = wire.events({ text: ['one', 'two'] })
      const last = events.findIndex((event) => event.includes('two'))
      const { deltas, end } = await receive(wire, [Buffer.from(events.slice(0, last + 1).join(''))])
      expect(end).to.equal('unreachable')
      expect(deltas.length).to.be.greaterThan(1)
    })

    it('refuses an event above the size limit', async () => {
      const huge = `data: {"a":"${'x'.repeat(limits.jsonBytesMax)}`
      const { end } = await receive(wire, cut(Buffer.from(huge), [65_536]))
      expect(end).to.equal('malformed')
    })
  })
}

describe('a stream of Gemini', () => {
  it('is a content policy error when the prompt is blocked', async () => {
    const blocked = 'data: {"promptFeedback":{"blockReason":"SAFETY"}}\n\n'
    expect((await receive(wires[2]!, [Buffer.from(blocked)])).end).to.equal('content_policy')
  })

  it('ends with content_filter when the answer is blocked', async () => {
    const events = geminiEvents({ text: ['one'], end: 'content_filter' }, 'gemini-3.5-flash')
    const { deltas } = await receive(wires[2]!, [Buffer.from(events.join(''))])
    expect(deltas.at(-1)).to.include({ finish_reason: 'content_filter' })
  })
})
