import { Dicer } from '@fastify/busboy'
import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { createBase64Encoder, encodeBase64 } from '../bytes/base64.ts'
import { type Pieces, joinPieces } from '../bytes/pieces.ts'
import { GatewayError } from '../core/error.ts'
import type { ExtractedTexts } from '../core/image/image.ts'
import { pictureKind } from '../core/image/picture.ts'
import type { Sink } from './receive.ts'

/** A form field. The value of a file is a data URL with a ticket instead of the base64. */
export type FormField = { name: string; value: string; file: boolean }

/** Converts the form of an operation to its JSON body. */
export type FormReading = {
  /** Throws `invalid_value`. */
  bodyOf: (fields: readonly FormField[]) => object
  /** The form field names of body members, where they differ. */
  names: Readonly<Record<string, string>>
}

/** Returns the fields of a form and the base64 of its files by ticket. */
export function fieldsOf(parts: readonly FormPart[]): {
  fields: FormField[]
  texts: ExtractedTexts
} {
  const texts = new Map<string, Pieces>()
  const fields = parts.map((part): FormField => {
    const { name } = part
    if ('text' in part) return { name, value: part.text, file: false }
    const ticket = randomUUID()
    texts.set(ticket, part.base64)
    // A client's media type may be wrong; the format is read from the bytes later.
    return { name, value: `data:application/octet-stream;base64,${ticket}`, file: true }
  })
  return { fields, texts }
}

/** A complete part of a form; a file as base64. */
export type FormPart = { name: string } & ({ base64: Pieces } | { text: string })

/** Maximum number of parts, above that of any form of the contract. */
const partsMax = 64
const headersMax = 16
/** The limit of a text part; no prompt is as long. */
const textBytesMax = 1024 * 1024

/**
 * Reads a `multipart/form-data` body (RFC 7578) while it arrives, for `receive`. Throws `invalid_value`
 * if the form is malformed, cut off or exceeds a limit.
 */
export function formPartsSink(contentType: string): Sink<FormPart[]> {
  const dicer = new Dicer({ boundary: boundaryOf(contentType), maxHeaderPairs: headersMax })
  const parts: OpenPart[] = []
  const ended = Promise.withResolvers<void>()
  // The promise may reject before it is awaited.
  ended.promise.catch(() => undefined)
  let failure: GatewayError | undefined
  const fail = (error: GatewayError) => ended.reject((failure ??= error))
  dicer.on('finish', ended.resolve)
  dicer.on('error', (cause) => fail(cutOff(cause)))
  dicer.on('part', (stream) => {
    if (parts.length === partsMax) fail(invalid(`The form has more than ${partsMax} parts.`))
    if (failure === undefined) parts.push(openPart(stream, fail))
    else leave(stream)
  })
  return {
    take: (piece) => {
      if (failure !== undefined) throw failure
      if (dicer.write(piece)) return undefined
      const drained = new Promise<void>((resolve) => dicer.once('drain', resolve))
      return Promise.race([drained, ended.promise])
    },
    finish: async () => {
      dicer.end()
      await ended.promise
      // The form may end before its parts are fully processed.
      return Promise.all(parts.map((part) => part.read()))
    },
  }
}

/** A part in progress; `read` waits for its end. Throws `invalid_value`. */
type OpenPart = { read(): Promise<FormPart> }

function openPart(stream: Dicer.PartStream, fail: (error: GatewayError) => void): OpenPart {
  let read: (() => FormPart) | undefined
  const taken = new Promise<void>((resolve) => stream.once('end', resolve))
  stream.on('error', () => undefined)
  stream.once('header', (headers: object) => {
    try {
      // Dicer emits headers of this type.
      const head = readPartHead(headers as PartHeaders)
      read =
        head.isFile && !head.inBase64 ? readFile(head.name, stream) : readText(head, stream, fail)
    } catch (thrown) {
      // `readPartHead` throws only GatewayErrors.
      fail(thrown as GatewayError)
      leave(stream)
    }
  })
  return {
    read: async () => {
      if (read === undefined) throw invalid('A part of the form has no head.')
      await taken
      return read()
    },
  }
}

function readFile(name: string, stream: Dicer.PartStream, start: readonly Buffer[] = []) {
  const encoder = createBase64Encoder()
  for (const piece of start) encoder.push(piece)
  stream.on('data', encoder.push)
  return () => ({ name, base64: encoder.finish() })
}

/** Bytes that show whether a part without a file name is a picture, as some clients send it. */
const beginningBytes = 16

function isPicture(pieces: readonly Buffer[]): boolean {
  const beginning = joinPieces(pieces).subarray(0, beginningBytes)
  // A text may begin like a picture ("BMW"), but has no such bytes.
  const isText = beginning[0]! < 0x80 && beginning.every((byte) => byte > 8)
  return !isText && pictureKind(encodeBase64([beginning])) !== undefined
}

function readText(
  { name, isFile, inBase64 }: PartHead,
  stream: Dicer.PartStream,
  fail: (error: GatewayError) => void,
): () => FormPart {
  let pieces: Buffer[] = []
  const bytesMax = isFile ? Infinity : textBytesMax
  let bytes = 0
  let readPicture: (() => FormPart) | undefined
  stream.on('data', (piece: Buffer) => {
    const isBeginning = bytes < beginningBytes
    bytes += piece.length
    if (bytes <= bytesMax || isBeginning) pieces.push(piece)
    else fail(invalid(`'${name}' is longer than ${textBytesMax} bytes.`, name))
    if (!isBeginning || bytes < beginningBytes || isFile || !isPicture(pieces)) return
    stream.removeAllListeners('data')
    readPicture = readFile(name, stream, pieces)
    pieces = []
  })
  return () => {
    if (readPicture !== undefined) return readPicture()
    const whole = joinPieces(pieces)
    const value = inBase64 ? Buffer.from(whole.toString('latin1'), 'base64') : whole
    if (isFile) return { name, base64: encodeBase64([value]) }
    if (!isUtf8(value)) throw invalid(`'${name}' is not UTF-8.`, name)
    return { name, text: value.toString() }
  }
}

/** Discards a part, so that the form can end. */
function leave(stream: Dicer.PartStream): void {
  stream.on('error', () => undefined)
  stream.removeAllListeners('data')
  stream.resume()
}

const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i

function boundaryOf(contentType: string): string {
  const [, quoted, plain] = boundary.exec(contentType) ?? []
  const found = quoted ?? plain
  if (found !== undefined) return found
  const text =
    'The Content-Type has no boundary. Do not set this header yourself: the HTTP client sets it when it makes the form.'
  throw invalid(text, 'content-type')
}

function cutOff(cause: Error): GatewayError {
  const text = 'The body is not a multipart form, or it is cut off: its last boundary is missing.'
  return invalid(`${text} Send a complete multipart/form-data body, or JSON.`, undefined, cause)
}

function invalid(text: string, param?: string, cause?: Error): GatewayError {
  return new GatewayError('invalid_value', text, { param, cause })
}

type PartHead = { name: string; isFile: boolean; inBase64: boolean }

/** The headers of a part in latin1, by lower-case name. */
type PartHeaders = Readonly<Record<string, readonly string[] | undefined>>

const nameLengthMax = 200
/** A header parameter, quoted or not; a quoted value may have escapes. */
const parameter = /\s*;\s*([\w-]+\*?)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/y

/** Reads the head of a part (RFC 7578 section 4). Throws `invalid_value`. */
function readPartHead(headers: PartHeaders): PartHead {
  const [disposition = ''] = headers['content-disposition'] ?? []
  const given = parametersOf(disposition)
  const name = given.get('name')
  if (!/^form-data\s*(?:;|$)/i.test(disposition) || name === undefined || name === '') {
    const text =
      'A part of the form has no name. Send each with Content-Disposition: form-data; name="…".'
    throw new GatewayError('invalid_value', text)
  }
  if (name.length > nameLengthMax) {
    const text = `A part of the form has a name of more than ${nameLengthMax} characters.`
    throw new GatewayError('invalid_value', text)
  }
  const [encoding = 'binary'] = headers['content-transfer-encoding'] ?? []
  const [contentType = ''] = headers['content-type'] ?? []
  const isFile = given.has('filename') || given.has('filename*') || /^\s*image\//i.test(contentType)
  checkReadable({ name, isFile, encoding, charset: parametersOf(contentType).get('charset') })
  return { name, isFile, inBase64: encoding.trim().toLowerCase() === 'base64' }
}

type Written = { name: string; isFile: boolean; encoding: string; charset: string | undefined }

function checkReadable({ name, isFile, encoding, charset = 'utf-8' }: Written): void {
  if (!/^\s*(?:7bit|8bit|binary|base64)\s*$/i.test(encoding)) {
    throw unread(name, 'Content-Transfer-Encoding', 'Send the bytes without an encoding.')
  }
  if (!isFile && !/^(?:utf-?8|us-ascii)$/i.test(charset)) {
    throw unread(name, 'charset', 'Send UTF-8.')
  }
}

function unread(name: string, what: string, remedy: string): GatewayError {
  const text = `The ${what} of '${name}' is not supported. ${remedy}`
  return new GatewayError('invalid_value', text, { param: name })
}

function parametersOf(header: string): Map<string, string> {
  const found = new Map<string, string>()
  parameter.lastIndex = Math.max(0, header.indexOf(';'))
  for (let match = parameter.exec(header); match !== null; match = parameter.exec(header)) {
    const [, name = '', quoted, plain = ''] = match
    const text = quoted === undefined ? plain : unescaped(quoted)
    // The first value of a repeated parameter counts, as in other readers of the form.
    if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), text)
  }
  return found
}

/** Browsers write quotes and line breaks as `%22`, `%0D` and `%0A`; others with a backslash. */
function unescaped(quoted: string): string {
  const text = Buffer.from(quoted, 'latin1').toString()
  return text
    .replaceAll(/\\(["\\])/g, '$1')
    .replaceAll(/%(22|0D|0A)/gi, (_all, code: string) => String.fromCharCode(parseInt(code, 16)))
}
