import { completion } from './chat-answers.ts'
import { hello, type OwnEndpoint } from './own-endpoint.ts'
import { openConnection, postHead } from './raw-connection.ts'
import { until } from './until.ts'

/** A connection with a request whose provider has not answered yet. */
export type HeldAnswer = {
  socket: Awaited<ReturnType<typeof openConnection>>
  /** Bytes received so far, as text. */
  text(): string
  /** Makes the provider answer. */
  answer(): void
}

/** Sends a request over a new connection, followed by `next`; resolves when the provider receives the request. */
export async function holdAnswer(
  { gateway, upstream }: OwnEndpoint,
  next: string,
): Promise<HeldAnswer> {
  const gate = Promise.withResolvers<void>()
  upstream.answer({ ...completion('Hello.'), after: gate.promise })
  const body = JSON.stringify({ model: 'own/house-1', messages: hello })
  const length = { 'content-length': String(body.length), connection: 'keep-alive' }
  const socket = await openConnection(gateway.url)
  let text = ''
  socket.on('data', (piece: Buffer) => (text += piece.toString()))
  socket.write(postHead('/v1/chat/completions', gateway.liveKey, length) + body + next)
  await until('it is asked', () => upstream.requests.length === 1)
  return { socket, text: () => text, answer: () => gate.resolve() }
}
