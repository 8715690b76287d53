import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Answer } from '../../test/support/answers.ts'
import { openConnection } from '../../test/support/raw-connection.ts'
import { readAnswers } from './http-answers.ts'

/** Answers received until their number was reached, the connection closed or the time was up. */
export type Heard = {
  answers: Answer[]
  /** Bytes after the last complete answer. */
  rest: Buffer
  end: 'quiet' | 'closed' | 'timeout'
  durationMs: number
}

type Asked = {
  /** Whether the request with this index is a HEAD request. */
  isHead?: (index: number) => boolean
  /** Stops after this many answers; by default when the connection closes. */
  answersMax?: number
  /** Half-closes the connection after the bytes. */
  isHalfClosed?: boolean
  timeoutMs?: number
}

/** A connection without an answer stays so; a busy machine may take a minute for an answer. */
const answerTimeoutMs = 120_000

/** A keep-alive connection, which is reopened after the gateway closes it. */
export type Line = {
  ask(bytes: Buffer, asked: Asked): Promise<Heard>
  close(): void
}

type LineOptions = {
  /** Does not repeat a request on a new connection, so that a cut request is visible. */
  isKept?: boolean
}

export function openLine(url: string, { isKept = false }: LineOptions = {}): Line {
  let socket: Socket | undefined
  return {
    ask: async (bytes, asked) => {
      const kept = socket
      socket ??= await openConnection(url)
      let heard = await exchange(socket, bytes, asked)
      // Like HTTP clients, repeats a request whose keep-alive connection closed before an answer.
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

/** Sends bytes on a new connection; returns the answers. */
export async function askOnce(url: string, bytes: Buffer, asked: Asked): Promise<Heard> {
  const line = openLine(url)
  const heard = await line.ask(bytes, asked)
  line.close()
  return heard
}

/** Throws when the answer is not HTTP. */
async function exchange(
  socket: Socket,
  bytes: Buffer,
  {
    isHead = () => false,
    answersMax = Infinity,
    isHalfClosed = false,
    timeoutMs = answerTimeoutMs,
  }: Asked,
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
      // Ignores the error here, because `read` throws the same error at the end.
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
