import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Answer } from '../../test/support/answers.ts'
import { openConnection } from '../../test/support/raw-connection.ts'
import { readAnswers } from './http-answers.ts'

/** What came back on a connection until it was quiet, closed or out of time. */
export type Heard = {
  answers: Answer[]
  /** Bytes behind the last whole answer. */
  rest: Buffer
  end: 'quiet' | 'closed' | 'timeout'
  durationMs: number
}

type Asked = {
  /** Whether the answer of each request is one to HEAD. */
  isHead?: (index: number) => boolean
  /** With so many answers it is over; without a number, with the connection. */
  answersMax?: number
  /** Says that nothing more will come behind these bytes. */
  isHalfClosed?: boolean
  timeoutMs: number
}

/** A connection that is used for one request after the other while the gateway keeps it open. */
export type Line = {
  ask(bytes: Buffer, asked: Asked): Promise<Heard>
  close(): void
}

type LineOptions = {
  /** Sends nothing a second time and opens no further connection: what is cut is told. */
  isKept?: boolean
}

export function openLine(url: string, { isKept = false }: LineOptions = {}): Line {
  let socket: Socket | undefined
  return {
    ask: async (bytes, asked) => {
      const kept = socket
      socket ??= await openConnection(url)
      let heard = await exchange(socket, bytes, asked)
      // As every client does whose connection was closed while its request travelled.
      if (!isKept && kept !== undefined && isUnanswered(heard)) {
        socket = await openConnection(url)
        heard = await exchange(socket, bytes, asked)
      }
      if (asked.isHalfClosed === true || !staysOpen(heard)) {
        socket.destroy()
        socket = undefined
      }
      return heard
    },
    close: () => void socket?.destroy(),
  }
}

function isUnanswered({ end, rest, answers }: Heard): boolean {
  return end === 'closed' && rest.length === 0 && answers.length === 0
}

function staysOpen({ end, rest, answers }: Heard): boolean {
  const isClosing = answers.at(-1)?.headers.get('connection') === 'close'
  return end === 'quiet' && rest.length === 0 && !isClosing
}

/** Sends bytes on a connection of their own, and gives what comes back. */
export async function askOnce(url: string, bytes: Buffer, asked: Asked): Promise<Heard> {
  const line = openLine(url)
  const heard = await line.ask(bytes, asked)
  line.close()
  return heard
}

/** Throws when what comes back is no HTTP. */
async function exchange(
  socket: Socket,
  bytes: Buffer,
  { isHead = () => false, answersMax = Infinity, isHalfClosed = false, timeoutMs }: Asked,
): Promise<Heard> {
  const startedAt = performance.now()
  const over = Promise.withResolvers<Heard['end']>()
  let received: Buffer = Buffer.alloc(0)
  const read = (isClosed: boolean) => readAnswers(received, { isHead, isClosed })
  const onData = (piece: Buffer) => {
    received = Buffer.concat([received, piece])
    try {
      if (read(false).answers.length >= answersMax) over.resolve('quiet')
    } catch {
      // Told below.
      over.resolve('closed')
    }
  }
  const onClose = () => over.resolve('closed')
  const timer = setTimeout(() => over.resolve('timeout'), timeoutMs)
  socket.on('data', onData).once('close', onClose).once('end', onClose)
  if (socket.destroyed || socket.readableEnded) onClose()
  if (isHalfClosed) socket.end(bytes)
  else if (!socket.write(bytes)) await Promise.race([once(socket, 'drain'), over.promise])
  const end = await over.promise
  clearTimeout(timer)
  socket.off('data', onData).off('close', onClose).off('end', onClose)
  return { ...read(end === 'closed'), end, durationMs: performance.now() - startedAt }
}
