import { until } from './until.ts'
import { readEvents } from './event-stream.ts'

export type StreamedMessage = {
  id?: unknown
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

/** An open event stream with JSON-RPC messages. */
export type MessageStream = {
  response: Response
  /** Received text, unparsed. */
  text(): string
  messages(): StreamedMessage[]
  /** Waits for a number of messages. */
  untilMessages(count: number): Promise<StreamedMessage[]>
  /** Resolves when the server ends the stream. */
  ended: Promise<void>
  /** Closes the connection, as a client does that disappears. */
  leave(): void
}

/** Opens a stream with `open`; aborting the signal of `open` closes the stream. */
export async function openMessageStream(
  open: (signal: AbortSignal) => Promise<Response>,
): Promise<MessageStream> {
  const leaving = new AbortController()
  const response = await open(leaving.signal)
  let text = ''
  const read = async () => {
    const decoder = new TextDecoder()
    for await (const piece of response.body ?? []) text += decoder.decode(piece, { stream: true })
  }
  const ended = read().catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error
  })
  const messages = () =>
    readEvents(text.slice(0, text.lastIndexOf('\n\n') + 2)).flatMap(({ data }) =>
      data === undefined ? [] : (JSON.parse(data) as StreamedMessage),
    )
  return {
    response,
    text: () => text,
    messages,
    untilMessages: async (count) => {
      await until(`${count} messages`, () => messages().length >= count)
      return messages()
    },
    ended,
    leave: () => leaving.abort(),
  }
}
