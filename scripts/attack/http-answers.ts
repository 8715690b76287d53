import type { Answer } from '../../test/support/answers.ts'

// Strict on purpose: an answer that a strict client rejects is a failure of the gateway.

/** The complete answers of a connection, in order, and the bytes after the last complete answer. */
export type Answers = { answers: Answer[]; rest: Buffer }

type Framed = { answer: Answer; end: number }

/**
 * Reads the answers of a connection. `isHead` says whether the request of this index was a HEAD, whose
 * answer has no body; `isClosed` ends a body without a length. Throws when the bytes are not HTTP.
 */
export function readAnswers(
  bytes: Buffer,
  { isHead, isClosed }: { isHead: (index: number) => boolean; isClosed: boolean },
): Answers {
  const answers: Answer[] = []
  let at = 0
  for (;;) {
    const framed = readAnswer(bytes, at, isHead(answers.length), isClosed)
    if (framed === undefined) return { answers, rest: bytes.subarray(at) }
    // Skips 1xx answers such as 100 Continue, which precede the answer to a request.
    if (framed.answer.status >= 200) answers.push(framed.answer)
    at = framed.end
  }
}

function readAnswer(
  bytes: Buffer,
  start: number,
  isHead: boolean,
  isClosed: boolean,
): Framed | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n', start)
  if (headEnd < 0) return undefined
  const [line = '', ...fields] = bytes.toString('latin1', start, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) [ -~]*$/.exec(line)?.[1])
  if (!(status >= 100)) throw new Error(`'${line.slice(0, 80)}' is not a status line.`)
  const headers = headersOf(fields)
  const at = headEnd + 4
  const framed = (body: Buffer, end: number): Framed => ({
    answer: { status, headers, text: body.toString() },
    end,
  })
  if (isHead || status < 200 || status === 204 || status === 304) return framed(empty, at)
  if (headers.get('transfer-encoding') === 'chunked') {
    const chunked = readChunks(bytes, at)
    return chunked && framed(chunked.body, chunked.end)
  }
  const length = headers.get('content-length')
  if (length === null) return isClosed ? framed(bytes.subarray(at), bytes.length) : undefined
  const end = at + Number(length)
  return end > bytes.length ? undefined : framed(bytes.subarray(at, end), end)
}

const empty = Buffer.alloc(0)

function headersOf(fields: readonly string[]): Headers {
  const headers = new Headers()
  for (const field of fields) {
    const [, name, value] =
      /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): *([\t -~\x80-\xff]*)$/.exec(field) ?? []
    if (name === undefined || value === undefined)
      throw new Error(`'${field.slice(0, 80)}' is not a header.`)
    headers.append(name, value)
  }
  return headers
}

function readChunks(bytes: Buffer, start: number): { body: Buffer; end: number } | undefined {
  const chunks: Buffer[] = []
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error('A chunk has no size.')
    const end = lineEnd + 2 + size + 2
    if (end > bytes.length) return undefined
    if (size === 0) return { body: Buffer.concat(chunks), end }
    chunks.push(bytes.subarray(lineEnd + 2, end - 2))
    at = end
  }
}
