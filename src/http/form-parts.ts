import { isUtf8 } from 'node:buffer'
import { Dicer } from '@fastify/busboy'
import { createBase64Encoder, encodeBase64 } from '../bytes/base64.ts'
import { joinPieces, type Pieces } from '../bytes/pieces.ts'
import { GatewayError } from '../core/error.ts'
import { readPartHead, type PartHead, type PartHeaders } from './part-head.ts'
import type { Sink } from './receive.ts'

/** One part of a form, whole: a file as base64, as which it travels on. */
export type FormPart = { name: string } & ({ base64: Pieces } | { text: string })

/** More than any form of the contract can have. */
const partsMax = 64
const headersMax = 16
/** Of a part that is no file: no prompt is as long. */
const textBytesMax = 1024 * 1024

/**
 * Reads a `multipart/form-data` body (RFC 7578) while it arrives, for `receive`. Throws
 * `invalid_value` when it is none, is cut off, or has too much of something.
 */
export function formPartsSink(contentType: string): Sink<FormPart[]> {
  const dicer = new Dicer({ boundary: boundaryOf(contentType), maxHeaderPairs: headersMax })
  const parts: OpenPart[] = []
  const ended = Promise.withResolvers<void>()
  // It may fail while nobody waits for it.
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
      // The form may end before what has arrived of its parts is taken.
      return Promise.all(parts.map((part) => part.read()))
    },
  }
}

/** A part that is being read; `read` is for when the form has ended. Throws `invalid_value`. */
type OpenPart = { read(): Promise<FormPart> }

function openPart(stream: Dicer.PartStream, fail: (error: GatewayError) => void): OpenPart {
  let read: (() => FormPart) | undefined
  const taken = new Promise<void>((resolve) => stream.once('end', resolve))
  stream.on('error', () => undefined)
  stream.once('header', (headers: object) => {
    try {
      // As Dicer collects them.
      const head = readPartHead(headers as PartHeaders)
      read = head.isFile && !head.inBase64 ? readFile(head, stream) : readText(head, stream, fail)
    } catch (thrown) {
      // `readPartHead` throws nothing else.
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

function readFile({ name }: PartHead, stream: Dicer.PartStream): () => FormPart {
  const encoder = createBase64Encoder()
  stream.on('data', encoder.push)
  return () => ({ name, base64: encoder.finish() })
}

function readText(
  { name, isFile, inBase64 }: PartHead,
  stream: Dicer.PartStream,
  fail: (error: GatewayError) => void,
): () => FormPart {
  const pieces: Buffer[] = []
  const bytesMax = isFile ? Infinity : textBytesMax
  let bytes = 0
  stream.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= bytesMax) pieces.push(piece)
    else fail(invalid(`'${name}' is longer than ${textBytesMax} bytes.`, name))
  })
  return () => {
    const whole = joinPieces(pieces)
    const value = inBase64 ? Buffer.from(whole.toString('latin1'), 'base64') : whole
    if (isFile) return { name, base64: encodeBase64([value]) }
    if (!isUtf8(value)) throw invalid(`'${name}' is not UTF-8.`, name)
    return { name, text: value.toString() }
  }
}

/** Reads what nobody wants, so that the form comes to its end. */
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
    'The Content-Type names no boundary of the form. Let the client that makes the form set it.'
  throw invalid(text, 'content-type')
}

function cutOff(cause: Error): GatewayError {
  const text = 'The body is not a multipart form, or it is cut off: its last boundary is missing.'
  return invalid(
    `${text} Send multipart/form-data as its boundary says, or send JSON.`,
    undefined,
    cause,
  )
}

function invalid(text: string, param?: string, cause?: Error): GatewayError {
  return new GatewayError('invalid_value', text, { param, cause })
}
