import type { IncomingMessage } from 'node:http'
import { bodyChecks, type Check } from '../../generated/checks.js'
import type { operations } from '../../generated/operations.ts'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import {
  indexInPieces,
  joinPieces,
  piecesLength,
  slicePieces,
  type Pieces,
} from '../bytes/pieces.ts'
import { noTexts, type ExtractedTexts } from '../core/image/image.ts'
import { assertTaken } from '../core/error.ts'
import { assertValid } from './check-error.ts'
import { fieldsOf, formPartsSink, type FormPart, type FormReading } from './read-form.ts'
import { checkMediaType, isForm, receive, type BodyLimits, type Sink } from './receive.ts'
import { parseBody } from './parse-json.ts'
import { randomUUID } from 'node:crypto'
import { base64Length } from '../bytes/base64.ts'

/** The parts of a form, which were read while the form arrived. */
type ArrivedForm = { parts: readonly FormPart[] }
type ReadBody = { body: unknown; texts: ExtractedTexts; names: FormReading['names'] | undefined }

/** Receives a body. Throws `unsupported_media_type`, or the errors of `receive`. */
export function bodyReceiver(
  types: readonly string[],
  form: FormReading | undefined,
  limits: BodyLimits,
): (request: IncomingMessage, memory: MemoryHold) => Promise<Pieces | ArrivedForm> | Pieces {
  if (types.length === 0) return () => []
  return (request, memory) => {
    checkMediaType(request, types)
    return form !== undefined && isForm(request)
      ? receiveForm(request, memory, limits)
      : receiveWhole(request, memory, limits)
  }
}

/** Parses and validates a body; outside of `rest` returns the bytes. Throws a GatewayError. */
export function bodyReader(
  { id, bodyTypes, protocol }: (typeof operations)[number],
  form: FormReading | undefined,
): (arrived: Pieces | ArrivedForm, memory: MemoryHold) => ReadBody {
  if (bodyTypes.length === 0) return () => ({ body: undefined, texts: noTexts, names: undefined })
  if (protocol !== 'rest') {
    return (arrived, memory) => {
      // The body is never a form here: only `rest` operations accept forms.
      const pieces = arrived as Pieces
      countParsed(pieces, memory)
      return { body: joinPieces(pieces), texts: noTexts, names: undefined }
    }
  }
  // Each `rest` operation with a body has a check; the type of `id` does not express that.
  const check = (bodyChecks as Record<string, Check<unknown>>)[id]!
  return (arrived, memory) => {
    const read = 'parts' in arrived ? readForm(arrived.parts, form!) : readJson(arrived, memory)
    assertValid(check, read.body, { names: read.names })
    return read
  }
}

/** Parsing a smaller body takes little more memory than the bytes already counted. */
const parsedBytesMin = 16_384

/** A parsed body is in memory three times: as value, as text for a provider, and as bytes. */
function countParsed(pieces: Pieces, memory: MemoryHold): void {
  const bytes = piecesLength(pieces)
  assertTaken(bytes < parsedBytesMin ? undefined : memory.takeMore(2 * bytes))
}

function readJson(body: Pieces, memory: MemoryHold): ReadBody {
  const { pieces, texts } = extractBase64(body)
  countParsed(pieces, memory)
  const value = parseBody(joinPieces(pieces), () => joinPieces(body))
  return { body: value, texts, names: undefined }
}

function readForm(parts: readonly FormPart[], { bodyOf, names }: FormReading): ReadBody {
  const { fields, texts } = fieldsOf(parts)
  return { body: bodyOf(fields), texts, names }
}

/** Pieces that are smaller on average are joined: a loop over millions of them would be slow. */
const pieceBytesMin = 4096

/** Receives a whole body, decompressed. Throws the errors of `receive`. */
export function receiveWhole(
  request: IncomingMessage,
  memory: MemoryHold,
  limits: BodyLimits,
): Promise<Pieces> {
  const pieces: Buffer[] = []
  const sink: Sink<Pieces> = {
    take: (piece) => {
      pieces.push(piece)
      return undefined
    },
    finish: () => {
      const isSplit = piecesLength(pieces) < pieces.length * pieceBytesMin
      return isSplit ? [joinPieces(pieces)] : pieces
    },
  }
  return receive(request, memory, limits, sink)
}

/** Receives a form. Of its files only the base64 stays in memory, which is a third larger than the files. */
async function receiveForm(
  request: IncomingMessage,
  memory: MemoryHold,
  limits: BodyLimits,
): Promise<ArrivedForm> {
  const sink = formPartsSink(request.headers['content-type']!)
  const parts = await receive(request, memory, limits, sink)
  const characters = parts.reduce(
    (sum, part) => sum + ('base64' in part ? piecesLength(part.base64) : 0),
    0,
  )
  assertTaken(memory.takeMore(Math.ceil(characters / 4)))
  return { parts }
}

/** A JSON body in which tickets (random UUIDs) replace the extracted texts. */
type LightBody = { pieces: Pieces; texts: ExtractedTexts }

/** Shorter texts cost less to parse (docs/performance.md#large-base64-texts). */
const textBytesMin = 16_384
/** Maximum number of matches to check, above the pictures of a request; bounds the search in other bodies. */
const looksMax = 100

const beginning = Buffer.from('"data:image/')
const quote = 0x22
const nameBefore = /"(?:(?:image_)?url|mask)"[ \t\r\n]*:[ \t\r\n]*$/
const head = /^"data:image\/[a-z]+;base64,/

/**
 * Extracts the base64 of large pictures from a JSON body, so that megabytes are neither parsed nor
 * turned into a string, and inserts a ticket for each. Tickets are random, so a body cannot contain
 * one. Data URLs in unusual notation and invalid base64 stay in the body and are parsed as usual.
 */
export function extractBase64(body: Pieces): LightBody {
  if (piecesLength(body) < textBytesMin) return { pieces: body, texts: noTexts }
  const texts = new Map<string, Pieces>()
  let pieces: Buffer[] = []
  let copied = 0
  let at = indexInPieces(body, beginning, 0)
  for (let looks = 0; at >= 0 && looks < looksMax; looks++) {
    const start = textStart(body, at)
    const length = base64Length(slicePieces(body, start))
    if (length >= textBytesMin && byteAt(body, start + length) === quote) {
      const ticket = randomUUID()
      texts.set(ticket, slicePieces(body, start, start + length))
      pieces = [...pieces, ...slicePieces(body, copied, start), Buffer.from(ticket)]
      copied = start + length
    }
    at = indexInPieces(body, beginning, Math.max(at + 1, copied))
  }
  return { pieces: [...pieces, ...slicePieces(body, copied)], texts }
}

/** The start of the base64 of a data URL; Infinity if it is not the value of `(image_)url` or `mask`. */
function textStart(body: Pieces, at: number): number {
  // Inside a string the quote would be escaped and follow a backslash, not a member name.
  const before = joinPieces(slicePieces(body, Math.max(0, at - 64), at)).toString('latin1')
  if (!nameBefore.test(before)) return Infinity
  const url = joinPieces(slicePieces(body, at, at + 64)).toString('latin1')
  return at + (head.exec(url)?.[0].length ?? Infinity)
}

function byteAt(body: Pieces, at: number): number | undefined {
  return slicePieces(body, at, at + 1)[0]?.[0]
}
