import { expect } from 'chai'
import { installClient, type TypeScriptClient } from '../support/typescript-client.ts'

type Client = ReturnType<TypeScriptClient['createClient']>

describe('an event stream that the TypeScript client reads', () => {
  let sdk: TypeScriptClient
  let remove: () => void
  before(async () => {
    const { client, folder } = await installClient()
    sdk = client
    remove = folder.remove
  })
  after(() => remove())

  const clientOf = (answer: () => Response) =>
    sdk.createClient({ baseUrl: 'http://gateway.test', fetch: () => Promise.resolve(answer()) })
  /** The chunks of a streamed chat, and the error that ends them. */
  const chatOf = async (
    client: Client,
    { signal, onEvent = () => {} }: { signal?: AbortSignal; onEvent?: () => void } = {},
  ) => {
    const body = { model: 'gpt-5.4-mini', messages: [{ role: 'user' as const, content: 'Hello' }] }
    const seen: object[] = []
    try {
      for await (const event of sdk.streamChatCompletion({ client, body, signal })) {
        seen.push(event)
        onEvent()
      }
    } catch (error) {
      return { seen, error }
    }
    return { seen }
  }
  const eventStream = { 'content-type': 'text/event-stream' }
  /** A client whose responses have these chunks. */
  const sending = (...chunks: Uint8Array[]) => {
    const body = () =>
      new ReadableStream<Uint8Array>({
        start: (stream) => {
          for (const chunk of chunks) stream.enqueue(chunk)
          stream.close()
        },
      })
    return clientOf(() => new Response(body(), { headers: eventStream }))
  }
  const chunk = { object: 'chat.completion.chunk', id: 'ü€🦊', error: null }

  for (const [name, end] of Object.entries({ LF: '\n', CR: '\r', CRLF: '\r\n' })) {
    it(`is read with lines that end with ${name}, in chunks of any length`, async () => {
      const [start, rest] = JSON.stringify(chunk).split(',"id"')
      const lines = [
        '\uFEFF: a comment',
        'retry: 5',
        `data:${start},`,
        `data: "id"${rest}`,
        '',
        'event: error',
        '',
        `data: ${JSON.stringify({ object: 'last' })}`,
        '',
        'data: [DONE]',
        '',
        '',
      ]
      const bytes = Buffer.from(lines.join(end))
      for (const length of [1, 2, 3, 7, bytes.length]) {
        const chunks = Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
          bytes.subarray(index * length, (index + 1) * length),
        )
        const { seen, error } = await chatOf(sending(...chunks))
        expect(error, `chunks of ${length}`).to.equal(undefined)
        expect(seen).to.deep.equal([chunk, { object: 'last' }])
      }
    })
  }

  const broken = {
    'ends without [DONE]': `data: ${JSON.stringify(chunk)}\n\n`,
    'ends in an event': `data: ${JSON.stringify(chunk)}\n\ndata: {}\n`,
    'has an event that is not JSON': `data: ${JSON.stringify(chunk)}\n\ndata: <p>\n\ndata: [DONE]\n\n`,
  }
  for (const [name, text] of Object.entries(broken)) {
    it(`throws for a stream that ${name}`, async () => {
      const { seen, error } = await chatOf(sending(Buffer.from(text)))
      expect(seen).to.deep.equal([chunk])
      expect(error).to.include({ name: 'GatewayError', shouldRetry: false })
    })
  }

  it('throws for an answer that is no stream', async () => {
    const { seen, error } = await chatOf(clientOf(() => Response.json(chunk)))
    expect(seen).to.deep.equal([])
    expect(error).to.include({ message: 'The response is no stream.', shouldRetry: false })
  })

  it('yields no event of a chunk that has been received after the abort', async () => {
    const event = `data: ${JSON.stringify(chunk)}\n\n`
    const client = sending(Buffer.from(`${event}${event}data: [DONE]\n\n`))
    const aborting = new AbortController()
    const { signal } = aborting
    const { seen, error } = await chatOf(client, { signal, onEvent: () => aborting.abort() })
    expect(seen).to.have.length(1)
    expect(error).to.have.property('name', 'AbortError')
  })
})
