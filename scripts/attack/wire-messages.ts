import fc from 'fast-check'
import { dictionary } from './dictionary.ts'
import { bytesOf, type HttpRequest } from './http-request.ts'

/** The bytes of one connection: one or more requests whose framing may be invalid anywhere. */
export type WireMessage = { bytes: Buffer; isHalfClosed: boolean; requestsMax: number }

const post = (body: Buffer, headers: HttpRequest['headers'] = []): HttpRequest => ({
  operation: undefined,
  method: 'POST',
  path: '/v1/chat/completions',
  headers: [['content-type', 'application/json'], ...headers],
  body,
})
const question = Buffer.from('{"model":"own/house-1","messages":[{"role":"user","content":"Hi"}]}')

const method = fc.constantFrom(...dictionary.wireMethods, 'X'.repeat(900))
const address = fc.constantFrom(...dictionary.wireAddresses, `/${'x'.repeat(20_000)}`)
const version = fc.constantFrom(...dictionary.wireVersions)
const requestLine = fc
  .tuple(method, address, version, fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r', ' \r\n'))
  .map(([verb, target, protocol, end]) => `${verb} ${target} ${protocol}${end}`)
const field = fc.oneof(
  fc.constantFrom(...dictionary.wireFields, `x: ${'y'.repeat(20_000)}`, 'a: b\r\n'.repeat(300)),
  fc.string({ unit: 'binary-ascii', maxLength: 30 }),
)
const lineEnd = fc.constantFrom(...dictionary.lineEnds)
const head = fc
  .tuple(requestLine, fc.array(fc.tuple(field, lineEnd), { maxLength: 6 }), lineEnd)
  .map(([line, fields, end]) => Buffer.from(line + fields.flat().join('') + end, 'latin1'))

const chunkSize = fc.constantFrom(...dictionary.chunkSizes, `5;${'x'.repeat(20_000)}`)
const chunk = fc
  .tuple(chunkSize, lineEnd, fc.constantFrom('hello', '', 'hello world', '{}'), lineEnd)
  .map((parts) => parts.join(''))
const chunks = fc
  .tuple(
    fc.array(chunk, { maxLength: 5 }),
    fc.constantFrom('0\r\n\r\n', '0\r\nx: y\r\n\r\n', '0\r\n', ''),
  )
  .map(([some, end]) => some.join('') + end)
const chunked = fc
  .tuple(chunks, fc.boolean())
  .map(([body, hasLength]) =>
    Buffer.from(
      'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n' +
        `${hasLength ? 'content-length: 5\r\n' : ''}transfer-encoding: chunked\r\n\r\n${body}`,
    ),
  )
const whole = fc.constantFrom(
  bytesOf(post(question)),
  bytesOf(post(question, [['x-api-key', 'mag_test_x']])),
  Buffer.from('GET /health HTTP/1.1\r\nhost: x\r\n\r\n'),
  Buffer.from('GET /mcp-tools.json HTTP/1.1\r\nhost: x\r\n\r\n'),
)
const wrongLength = fc
  .nat(200)
  .map((length) => bytesOf(post(question, [['content-length', String(length)]])))
const noise = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes))

const piece = fc.oneof(
  { weight: 3, arbitrary: head },
  { weight: 3, arbitrary: chunked },
  { weight: 4, arbitrary: whole },
  { weight: 1, arbitrary: wrongLength },
  { weight: 1, arbitrary: noise },
)

/** Valid and invalid HTTP requests: pipelined, truncated, with a changed byte, half closed. */
export const wireMessage: fc.Arbitrary<WireMessage> = fc
  .record({
    pieces: fc.oneof(
      { weight: 6, arbitrary: fc.array(piece, { minLength: 1, maxLength: 4 }) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(whole, fc.nat(60))
          .map(([one, more]) => Array(more + 1).fill(one) as Buffer[]),
      },
    ),
    cut: fc.option(fc.nat(400), { freq: 6 }),
    spoilt: fc.option(fc.tuple(fc.nat(400), fc.nat(255)), { freq: 6 }),
    isHalfClosed: fc.boolean(),
  })
  .map(({ pieces, cut, spoilt, isHalfClosed }) => {
    const bytes = Buffer.concat(pieces)
    if (spoilt !== null && bytes.length > 0) bytes[spoilt[0] % bytes.length] = spoilt[1]
    const sent = cut === null ? bytes : bytes.subarray(0, cut)
    // An upper limit: each line begins a request if the parser ends the previous request before the line.
    const requestsMax = 1 + sent.toString('latin1').split(/[\r\n]+/).length
    return { bytes: sent, isHalfClosed, requestsMax }
  })
