import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello, ownKey, ownProvider, quickLimits } from '../support/own-endpoint.ts'

/** Writes raw bytes of HTTP responses that no library would write. */
type Script = (socket: Socket) => void

const head = (status: number, ...lines: string[]) =>
  [`HTTP/1.1 ${status} Odd`, ...lines, '', ''].join('\r\n')
const drip =
  (first: string, rest: string): Script =>
  (socket) => {
    socket.write(first)
    const timer = setInterval(() => socket.write(rest), 20)
    socket.once('close', () => clearInterval(timer))
  }
const flood =
  (first: string, rest: string): Script =>
  (socket) => {
    socket.write(first)
    const more = () => {
      while (!socket.destroyed && socket.write(rest)) continue
    }
    socket.on('drain', more)
    more()
  }
const events = head(200, 'content-type: text/event-stream', 'connection: close')

const scripts: Record<string, { script: Script; status: number; code: string }> = {
  'early hints without end': {
    script: flood('', head(103, 'link: </a>').repeat(100)),
    status: 504,
    code: 'timeout',
  },
  'headers without end': {
    script: flood('HTTP/1.1 200 OK\r\n', `x-a: ${'b'.repeat(1000)}\r\n`),
    status: 502,
    code: 'provider_error',
  },
  'a head that drips': {
    script: drip('HTTP/1.1 200 OK\r\nx-a: ', 'b'),
    status: 504,
    code: 'timeout',
  },
  'a body that drips': {
    script: drip(`${head(200, 'content-length: 1000000')}{`, ' '),
    status: 504,
    code: 'timeout',
  },
  'comments that drip': { script: drip(events, ':\n\n'), status: 504, code: 'timeout' },
  'a length that is too long': {
    script: (socket) => socket.end(`${head(200, 'content-length: 999')}{}`),
    status: 502,
    code: 'provider_error',
  },
  'a length that is too short': {
    script: (socket) => socket.end(`${head(200, 'content-length: 1', 'connection: close')}{"a":1}`),
    status: 502,
    code: 'provider_error',
  },
  'a redirect': {
    script: (socket) =>
      socket.end(head(302, 'location: http://10.0.0.7/', 'content-length: 0', 'connection: close')),
    status: 502,
    code: 'provider_error',
  },
  'no content': {
    script: (socket) => socket.end(head(204, 'connection: close')),
    status: 502,
    code: 'provider_error',
  },
  'not modified': {
    script: (socket) => socket.end(head(304, 'connection: close')),
    status: 502,
    code: 'provider_error',
  },
}

describe('a vendor with an unusual HTTP response', () => {
  let gateway: TestGateway
  let script: Script
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => script(socket))
  })
  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    gateway = await startGateway({
      variables: { OWN_API_KEY: ownKey },
      file: {
        providers: [ownProvider('own', { url: `http://127.0.0.1:${port}` })],
        limits: { ...quickLimits, chat_timeout_ms: 300 },
      },
      bounds: { circuitFailuresMax: 1000 },
    })
  })
  after(async () => {
    await gateway.stop()
    server.close()
  })

  for (const [name, { script: played, status, code }] of Object.entries(scripts)) {
    for (const stream of [false, true]) {
      it(`is reported as ${code}: ${name}, ${stream ? 'streamed' : 'whole'}`, async () => {
        script = played
        const rowsBefore = (await gateway.usage()).length
        const body = { model: 'own/house-1', messages: hello, stream }
        const response = await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
        const text = await response.text()
        expect(response.status, text).to.equal(status)
        expect(text).to.contain(`"code":"${code}"`)
        const [row, ...others] = (await gateway.usage()).slice(rowsBefore)
        expect(others).to.deep.equal([])
        expect(row).to.include({ outcome: 'failed', error_code: code })
      })
    }
  }

  it('ends a slowly dripping stream with an error at the deadline', async () => {
    const said = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' } }] })}\n\n`
    script = drip(events + said, ':\n\n')
    const body = { model: 'own/house-1', messages: hello, stream: true }
    const response = await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
    expect(await response.text())
      .to.contain('event: error')
      .and.to.contain('"code":"timeout"')
  })
})
