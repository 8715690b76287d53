import { expect } from 'chai'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { startGateway } from '../support/gateway.ts'
import { openConnection } from '../support/raw-connection.ts'

const quietMs = 100
const health = 'GET /health HTTP/1.1\r\nhost: gateway\r\n\r\n'

describe('a gateway that stops, and was held up meanwhile', () => {
  it('answers what has come by then, before it closes what is quiet', async () => {
    const gateway = await startGateway({ file: { limits: { drain_quiet_ms: quietMs } } })
    const socket = await openConnection(gateway.url)
    socket.write(health)
    await once(socket, 'data')
    const stopped = gateway.stop()
    // The port is closed now, and connections are looked after.
    while (await isOpen(gateway.url)) await new Promise(setImmediate)
    const answered = text(socket)
    socket.write(health)
    const until = performance.now() + quietMs * 3
    while (performance.now() < until);
    expect(await answered).to.match(/^HTTP\/1\.1 200 [^]*connection: close/i)
    await stopped
  })
})

async function isOpen(url: string): Promise<boolean> {
  const socket = await openConnection(url).catch(() => undefined)
  socket?.destroy()
  return socket !== undefined
}
