import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

const openedAtOnce = 50
const firstEvent = ': open\n\n'

/** Opens event streams of the tool server; resolves after the first event of each. */
export const holdStreams = async (
  { port, key }: { port: number; key: string },
  count: number,
): Promise<Socket[]> => {
  const streams: Socket[] = []
  while (streams.length < count) {
    const next = Math.min(openedAtOnce, count - streams.length)
    streams.push(...(await Promise.all(Array.from({ length: next }, () => openStream(port, key)))))
  }
  return streams
}

const openStream = async (port: number, key: string): Promise<Socket> => {
  const socket = connect({ host: '127.0.0.1', port })
  await once(socket, 'connect')
  const head = ['GET /mcp HTTP/1.1', 'host: 127.0.0.1', `x-api-key: ${key}`]
  socket.write(`${[...head, 'accept: text/event-stream'].join('\r\n')}\r\n\r\n`)
  let text = ''
  while (!text.includes(firstEvent)) {
    const [piece] = await once(socket, 'data')
    text += String(piece)
    if (!text.startsWith('HTTP/1.1 200')) throw new Error(`No stream was opened: ${text}`)
  }
  return socket
}
