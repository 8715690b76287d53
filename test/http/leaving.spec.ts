import { expect } from 'chai'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { startGateway } from '../support/gateway.ts'
import { openConnection } from '../support/raw-connection.ts'

const health = 'GET /health HTTP/1.1\r\nhost: gateway\r\n\r\n'
const answeredLast = /^HTTP\/1\.1 200 [^]*connection: close/i

describe('a gateway that stops', () => {
  it('and was blocked answers requests that arrived meanwhile before it closes idle connections', async () => {
    const quietMs = 100
    const gateway = await startGateway({ file: { limits: { drain_quiet_ms: quietMs } } })
    const socket = await openConnection(gateway.url)
    socket.write(health)
    await once(socket, 'data')
    const stopped = gateway.stop()
    // After the port is closed, the gateway looks for idle connections.
    await portClosed(gateway.url)
    const answered = text(socket)
    socket.write(health)
    blockEventLoop(quietMs * 3)
    expect(await answered).to.match(answeredLast)
    await stopped
  })

  it('keeps serving for the whole notice period, not counting the time that it was blocked', async () => {
    const noticeMs = 200
    const gateway = await startGateway({ file: { limits: { drain_notice_ms: noticeMs } } })
    const stopped = gateway.stop()
    blockEventLoop(noticeMs * 2)
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    expect((await gateway.fetch('/ready')).status).to.equal(503)
    await stopped
  })

  it('accepts all pending connections before it closes its port', async () => {
    const gateway = await startGateway({ file: { limits: { drain_quiet_ms: 60_000 } } })
    const { hostname, port } = new URL(gateway.url)
    const sockets = Array.from({ length: 800 }, () => connect(Number(port), hostname))
    const stopped = gateway.stop()
    await portClosed(gateway.url)
    const answers = sockets.map((socket) => {
      socket.write(health)
      return text(socket)
    })
    for (const answer of await Promise.all(answers)) expect(answer).to.match(answeredLast)
    await stopped
  })
})

async function portClosed(url: string): Promise<void> {
  while (await isOpen(url)) await new Promise(setImmediate)
}

async function isOpen(url: string): Promise<boolean> {
  const socket = await openConnection(url).catch(() => undefined)
  socket?.destroy()
  return socket !== undefined
}

function blockEventLoop(durationMs: number): void {
  const until = performance.now() + durationMs
  while (performance.now() < until);
}
