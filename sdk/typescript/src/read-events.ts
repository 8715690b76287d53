import { GatewayError } from './gateway-error.js'

/** An event of a stream (HTML Standard, section 9.2.6). */
export type StreamEvent = { event: string; data: string; id: string | undefined }

/** The maximum length of an event, far above the largest image. */
const eventCharsMax = 2 ** 28

/** Yields the events of a response. An incomplete last event is dropped. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamEvent, void, undefined> {
  let event = ''
  let data: string[] = []
  let id: string | undefined
  for await (const line of linesOf(body)) {
    if (line === '') {
      if (data.length > 0)
        yield { event: event === '' ? 'message' : event, data: data.join('\n'), id }
      event = ''
      data = []
      continue
    }
    // A line that begins with a colon is a comment.
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') data.push(value)
    else if (name === 'event') event = value
    else if (name === 'id') id = value
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let line = ''
  let endedWithReturn = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      let text = decoder.decode(value, { stream: true })
      if (text === '') continue
      if (endedWithReturn && text.startsWith('\n')) text = text.slice(1)
      endedWithReturn = text.endsWith('\r')
      const [first = '', ...others] = text.split(/\r\n|\n|\r/)
      // Only the new text is searched: an image is one line of many chunks.
      line += first
      if (line.length > eventCharsMax)
        throw new GatewayError({ message: 'An event of the stream is too long.', mayRepeat: false })
      for (const next of others) {
        yield line
        line = next
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
