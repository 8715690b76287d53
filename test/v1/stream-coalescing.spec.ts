import { expect } from 'chai'
import type { Bounds } from '../../src/settings/bounds.ts'
import { doneEvent, finishChunk, streamed, textChunk, usageChunk } from '../support/chat-answers.ts'
import { readChunks, readText } from '../support/event-stream.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { openConnection, postHead } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

/** Pieces wait longer than a test takes, so that no timer sends them. */
const waitMs = 10_000
const streams = 40
const words = ['one ', 'two ', 'three ', 'four ', 'five']
const events = words.map((word) => textChunk(word))
const counted = { stream: true, stream_options: { include_usage: true } }
const fresh = { headers: { 'cache-control': 'no-store' } }

/** Yields the first event at once, and the other events after `time` resolves. */
async function* inTwo(all: readonly string[], time: Promise<void>) {
  yield all[0]!
  await time
  yield* all.slice(1)
}

/** Requests a stream and collects its raw bytes. */
async function listen({ gateway }: OwnEndpoint) {
  const messages = [{ role: 'user', content: 'hello' }]
  const body = JSON.stringify({ model: 'own/house-1', messages, ...counted })
  const socket = await openConnection(gateway.url)
  let text = ''
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece))
  const headers = { 'content-length': `${body.length}`, ...fresh.headers }
  socket.write(postHead('/v1/chat/completions', gateway.liveKey, headers) + body)
  const said = () => framesOf(text).join('')
  return { socket, frames: () => framesOf(text), said }
}

/** The chunks of a chunked body as sent (RFC 9112 section 7.1). */
function framesOf(answer: string): string[] {
  const frames: string[] = []
  for (let at = answer.indexOf('\r\n\r\n') + 4; at > 3;) {
    const begin = answer.indexOf('\r\n', at) + 2
    const bytes = Number.parseInt(answer.slice(at, begin), 16)
    if (!(bytes > 0) || begin + bytes > answer.length) break
    frames.push(answer.slice(begin, begin + bytes))
    at = begin + bytes + 2
  }
  return frames
}

describe('streams whose events are sent together', () => {
  const startWaiting = (bounds: Partial<Bounds> = {}) =>
    startOwnEndpoint({
      bounds: { streamCoalescingMs: waitMs, streamCoalescingStreamsMin: 1, ...bounds },
    })

  /** Requests a stream whose first word is sent alone, and the other words after the first has arrived. */
  const readFirstWord = async (own: OwnEndpoint, ending: Partial<ScriptedAnswer>) => {
    const first = Promise.withResolvers<void>()
    own.upstream.answer({ pieces: inTwo(events, first.promise), ...ending })
    const caller = await listen(own)
    await until('the first word is there', () => readText(caller.said()) === words[0])
    first.resolve()
    return caller
  }

  it('start at once, and lose no waiting event when the provider closes the connection', async () => {
    await using own = await startWaiting()
    const { socket, frames, said } = await readFirstWord(own, { reset: 'after' })
    await until('the stream is over', () => socket.closed)
    expect(frames().map((frame) => readText(frame))).to.deep.equal([
      words[0],
      words.slice(1).join(''),
      '',
    ])
    expect(frames().at(-1)).to.match(/^event: error\n/)
    expect(said()).not.to.contain('[DONE]')
    expect((await own.gateway.usage()).at(-1)).to.include({ outcome: 'failed' })
  })

  it('hold back no more bytes than the limit', async () => {
    const bytesMax = events[3]!.length + events[4]!.length - 1
    await using own = await startWaiting({ streamCoalescingBytesMax: bytesMax })
    const { socket, frames, said } = await readFirstWord(own, { hang: true })
    await until('the others are there', () => readText(said()) === words.join(''))
    expect(frames().map((frame) => readText(frame))).to.deep.equal([
      'one ',
      'two three ',
      'four five',
    ])
    socket.destroy()
  })

  it('are cancelled when the caller disconnects', async () => {
    await using own = await startWaiting()
    const { socket } = await readFirstWord(own, { hang: true })
    const [request] = own.upstream.requests
    await until('all words are sent', () => request!.bytesSent === events.join('').length)
    socket.destroy()
    await request!.closed
    expect(request!.aborted).to.equal(true)
    await until('there is a row', async () => {
      return (await own.gateway.usage()).at(-1)?.outcome === 'cancelled'
    })
  })

  it('are not held back when few streams are open', async () => {
    await using own = await startWaiting({ streamCoalescingStreamsMin: 2 })
    own.upstream.answer(streamed(words))
    const text = await (await own.chat(counted, fresh)).text()
    expect(readText(text)).to.equal(words.join(''))
    expect(text.endsWith(doneEvent)).to.equal(true)
  })

  it('are complete, with their counts, when many streams are open', async () => {
    await using own = await startOwnEndpoint()
    const all = Promise.withResolvers<void>()
    own.upstream.answer((_request, index) => {
      if (index === streams - 1) all.resolve()
      return { pieces: inTwo([...events, finishChunk(), usageChunk(), doneEvent], all.promise) }
    })
    const asked = Array.from({ length: streams }, () => own.chat(counted, fresh))
    const answers = await Promise.all(asked)
    for (const text of await Promise.all(answers.map((answer) => answer.text()))) {
      expect(readText(text)).to.equal(words.join(''))
      expect(readChunks(text).at(-1)!.usage).to.include({ completion_tokens: 4 })
      expect(text.endsWith(doneEvent)).to.equal(true)
    }
    const rows = await own.gateway.usage()
    expect(rows.filter(({ outcome }) => outcome === 'ok')).to.have.length(streams)
  })
})
