import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ephemeral ports of Linux (32768) and of gVisor (16000), ip_local_port_range. */
const [lowest, highest] = [10_000, 15_900]
/** The only one of these ports that `fetch` refuses (fetch.spec.whatwg.org, port blocking). */
const blocked = 10_080

/** A port stays free until it is used, so each process has ports of its own, and gives each of them in turn. */
const portsPerProcess = 100
const first =
  lowest + portsPerProcess * (process.pid % Math.floor((highest - lowest) / portsPerProcess))
let given = 0

/** A free port on loopback, outside the ephemeral range, so that no other process gets it by chance. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + (given++ % portsPerProcess)
    if (port === blocked) continue
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
