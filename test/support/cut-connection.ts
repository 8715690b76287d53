import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A TCP proxy whose connections a test can break. */
export type CutConnection = {
  url: string
  /** Breaks all open connections. */
  cut(): void
  stop(): Promise<void>
}

/** Starts a TCP proxy to a server. */
export async function openCutConnection(to: string): Promise<CutConnection> {
  const { hostname, port } = new URL(to)
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        open.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The address of a server that listens on TCP always has this type.
  const { port: own } = server.address() as AddressInfo
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${own}`,
    cut,
    stop: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
