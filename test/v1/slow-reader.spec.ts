import { expect } from 'chai'
import { doneEvent, finishChunk, textChunk } from '../support/chat-answers.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { openConnection, postHead } from '../support/raw-connection.ts'
import { until } from '../support/until.ts'

const event = textChunk('x'.repeat(64_000))
/**
 * 122 MB, below the limit of an answer. Linux keeps up to 75 MB in the buffers of two connections
 * (tcp_rmem, tcp_wmem).
 */
const eventsInAll = 1900

for (const [when, bounds] of [
  ['', {}],
  [' among many', { streamCoalescingStreamsMin: 1 }],
] as const)
  describe(`a caller who reads a stream slowly${when}`, () => {
    let own: OwnEndpoint
    before(async () => {
      own = await startOwnEndpoint({ bounds })
    })
    after(() => own.stop())

    it('slows the provider down and gets every byte', async () => {
      own.upstream.answer({ pieces: [...Array(eventsInAll).fill(event), finishChunk(), doneEvent] })
      const { socket, bytesRead } = await ask()
      socket.pause()
      await until('the provider is asked', () => own.upstream.requests.length === 1)
      const [request] = own.upstream.requests
      let sent = -1
      let unchanged = 0
      // The upstream stops when the socket buffers are full.
      await until('nothing is sent any more', () => {
        unchanged = sent === request!.bytesSent ? unchanged + 1 : 0
        sent = request!.bytesSent
        return sent > 0 && unchanged === 20
      })
      expect(sent).to.be.lessThan(eventsInAll * event.length * 0.75)
      socket.resume()
      await request!.closed
      await until('the caller has it all', () => socket.closed)
      expect(request!.aborted).to.equal(false)
      expect(bytesRead()).to.be.greaterThan(eventsInAll * event.length)
    })

    it('closes the request to the provider by disconnecting', async () => {
      own.upstream.answer({ pieces: Array(eventsInAll).fill(event) })
      const { socket } = await ask()
      socket.pause()
      await until('the provider is stopped', () => {
        const sent = own.upstream.requests[0]?.bytesSent ?? 0
        return sent > 10 * event.length
      })
      socket.destroy()
      await own.upstream.requests[0]!.closed
      expect(own.upstream.requests[0]!.aborted).to.equal(true)
      await until('there is a row', async () => {
        return (await own.gateway.usage()).at(-1)!.outcome === 'cancelled'
      })
    })

    it('causes no stack trace on the console when the connection breaks', async () => {
      const before = (await own.gateway.usage()).length
      const printed: unknown[] = []
      const print = console.error
      console.error = (...words: unknown[]) => printed.push(...words)
      try {
        own.upstream.answer({ pieces: Array(eventsInAll).fill(event) })
        const { socket } = await ask()
        await until('the stream runs', () => (own.upstream.requests[0]?.bytesSent ?? 0) > 0)
        socket.resetAndDestroy()
        await own.upstream.requests[0]!.closed
        await until('there is a row', async () => (await own.gateway.usage()).length > before)
      } finally {
        console.error = print
      }
      expect(printed).to.deep.equal([])
    })

    async function ask() {
      const body = JSON.stringify({
        model: 'own/house-1',
        messages: [{ role: 'user', content: 'hello' }],
        stream: true,
      })
      const { url, liveKey } = own.gateway
      const socket = await openConnection(url)
      let bytes = 0
      socket.on('data', (piece: Buffer) => (bytes += piece.length))
      socket.write(
        postHead('/v1/chat/completions', liveKey, { 'content-length': `${body.length}` }),
      )
      socket.write(body)
      return { socket, bytesRead: () => bytes }
    }
  })
