import { once } from 'node:events'
import { connect } from 'node:net'

// One keep-alive HTTP/1.1 connection, one request at a time. It only finds the end of an answer,
// because a complete HTTP client would cost as much CPU as the floor that it measures.

const timeoutMs = 30_000
const headEnd = '\r\n\r\n'
const lastChunk = Buffer.from('\r\n0\r\n\r\n')

export type Answer = {
  status: number
  chunked: boolean
  /** The bytes of the body, including the framing of chunks. */
  pieces: Buffer[]
  bytes: number
}

export type Connection = {
  exchange: (request: Buffer) => Promise<Answer>
  close: () => void
}

export const openConnection = async (port: number): Promise<Connection> => {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  await once(socket, 'connect')
  let waiting: PromiseWithResolvers<Answer> | undefined
  let reader = answerReader()
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`No answer in ${timeoutMs} ms.`)))
  socket.on('data', (piece) => {
    const answer = reader(piece)
    if (!answer) return
    reader = answerReader()
    waiting?.resolve(answer)
  })
  socket.on('error', (error) => waiting?.reject(error))
  socket.on('close', () => waiting?.reject(new Error('The connection was closed.')))
  return {
    exchange: (request) => {
      waiting = Promise.withResolvers<Answer>()
      if (socket.writable) socket.write(request)
      else waiting.reject(new Error('The connection was closed between two requests.'))
      return waiting.promise
    },
    close: () => {
      waiting = undefined
      socket.destroy()
    },
  }
}

/** Returns a function that takes each piece of an answer, and returns the answer after the last piece. */
const answerReader = (): ((piece: Buffer) => Answer | undefined) => {
  let head: Buffer = Buffer.alloc(0)
  let answer: Answer | undefined
  let length = 0
  return (piece) => {
    let rest = piece
    if (!answer) {
      head = head.length ? Buffer.concat([head, piece]) : piece
      const end = head.indexOf(headEnd)
      if (end < 0) return undefined
      const text = head.toString('latin1', 0, end)
      const found = /content-length: *(\d+)/i.exec(text)
      length = Number(found?.[1])
      answer = { status: Number(text.slice(9, 12)), chunked: !found, pieces: [], bytes: 0 }
      rest = head.subarray(end + headEnd.length)
    }
    if (rest.length) answer.pieces.push(rest)
    answer.bytes += rest.length
    return isWhole(answer, length) ? answer : undefined
  }
}

// Only the end of an answer has these bytes: JSON escapes line ends, and lines of events end in \n.
const isWhole = ({ chunked, pieces, bytes }: Answer, length: number): boolean =>
  chunked ? tail(pieces, lastChunk.length).equals(lastChunk) : bytes === length

/** The last bytes of the concatenated pieces. No piece may be empty. */
export const tail = (pieces: Buffer[], bytes: number): Buffer => {
  const last = pieces.at(-1)
  if (last && last.length >= bytes) return last.subarray(-bytes)
  return Buffer.concat(pieces.slice(-bytes)).subarray(-bytes)
}

export const bodyOf = ({ chunked, pieces }: Answer): Buffer => {
  const wire = Buffer.concat(pieces)
  if (!chunked) return wire
  const chunks: Buffer[] = []
  for (let at = 0; ;) {
    const start = wire.indexOf('\r\n', at) + 2
    const size = Number.parseInt(wire.toString('latin1', at, start), 16)
    if (!size) return Buffer.concat(chunks)
    chunks.push(wire.subarray(start, start + size))
    at = start + size + 2
  }
}
