import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { expect } from 'chai'
import fc from 'fast-check'
import { uncounted } from '../../src/bytes/memory-budget.ts'
import { eventWriter } from '../../src/http/event-writer.ts'

type Handle = (response: ServerResponse, path: string) => Promise<void> | void

/** A plain Node server whose answers the test writes. */
async function serve(handle: Handle) {
  const server = createServer((request, response) => void handle(response, request.url ?? ''))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, stop: () => server.close() }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))
const piece = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.uint8Array({ minLength: 16_000, maxLength: 20_000 }),
)

describe('the writer of events', () => {
  it('sends the client exactly the written bytes', async () => {
    let pieces: Uint8Array[] = []
    const server = await serve(async (response) => {
      const sink = eventWriter(response, uncounted)
      for (const one of pieces) {
        sink.write(Buffer.from(one))
        if (one.length % 2 === 0) await turn()
      }
      response.end()
    })
    await fc.assert(
      fc.asyncProperty(fc.array(piece), async (written) => {
        pieces = written
        const body = await (await fetch(server.url)).bytes()
        expect(Buffer.concat(written).equals(body)).to.equal(true)
      }),
      { numRuns: 50 },
    )
    server.stop()
  })

  it('uses no chunked encoding for an HTTP/1.0 client', async () => {
    const server = await serve(async (response) => {
      const sink = eventWriter(response, uncounted)
      for (const one of ['one ', 'two ', 'three']) {
        sink.write(Buffer.from(one))
        await turn()
      }
      response.end()
    })
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET / HTTP/1.0\r\n\r\n')
    expect((await text(socket)).split('\r\n\r\n')[1]).to.equal('one two three')
    server.stop()
  })

  it('writes in order when requests are pipelined', async () => {
    const first = Promise.withResolvers<void>()
    const server = await serve(async (response, path) => {
      const sink = eventWriter(response, uncounted)
      for (let event = 0; event < 5; event++) {
        sink.write(Buffer.from(`${path}${event} `))
        await turn()
      }
      if (path === '/second') first.resolve()
      else await first.promise
      sink.write(Buffer.from(`${path} ends`))
      response.end()
    })
    const socket = connect(server.port, '127.0.0.1')
    const head = 'HTTP/1.1\r\nhost: a\r\n'
    socket.write(`GET /first ${head}\r\nGET /second ${head}connection: close\r\n\r\n`)
    const [one = '', two = ''] = (await text(socket)).split('HTTP/1.1 200').slice(1)
    expect(unframed(one)).to.equal('/first0 /first1 /first2 /first3 /first4 /first ends')
    expect(unframed(two)).to.equal('/second0 /second1 /second2 /second3 /second4 /second ends')
    server.stop()
  })

  it('writes after the data that Node has buffered', async () => {
    const large = 'x'.repeat(20_000)
    const server = await serve(async (response) => {
      const sink = eventWriter(response, uncounted)
      sink.write(Buffer.from('one '))
      await turn()
      // Corks explicitly, as newer Node versions do by default until the end of the tick.
      response.cork()
      sink.write(Buffer.from(large))
      sink.write(Buffer.from(' two'))
      response.uncork()
      sink.write(Buffer.from(' three'))
      response.end()
    })
    expect(await (await fetch(server.url)).text()).to.equal(`one ${large} two three`)
    server.stop()
  })

  it('reports backpressure of a slow reader, and when it drains', async () => {
    const event = Buffer.alloc(8000, 'a')
    let written = 0
    let drained = 0
    const server = await serve(async (response) => {
      const sink = eventWriter(response, uncounted)
      while (drained < 3) {
        written++
        if (sink.write(event)) continue
        await new Promise<void>((resolve) => sink.onDrain(resolve))
        drained++
      }
      response.end()
    })
    const socket: Socket = connect(server.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
    socket.pause()
    for (let turns = 0; turns < 300; turns++) await turn()
    expect(drained).to.be.below(3)
    const body = (await buffer(socket)).toString('latin1')
    expect(drained).to.equal(3)
    expect(unframed(body).length).to.equal(written * event.length)
    server.stop()
  })
})

/** The decoded body of a chunked answer. */
function unframed(answer: string): string {
  let rest = answer.slice(answer.indexOf('\r\n\r\n') + 4)
  let body = ''
  for (;;) {
    const [size = ''] = rest.split('\r\n', 1)
    const length = Number.parseInt(size, 16)
    if (!(length > 0)) return body
    body += rest.slice(size.length + 2, size.length + 2 + length)
    rest = rest.slice(size.length + length + 4)
  }
}
