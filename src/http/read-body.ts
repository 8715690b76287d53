import type { IncomingMessage } from 'node:http'
import { bodyChecks, type Check } from '../../generated/checks.js'
import type { operations } from '../../generated/operations.ts'
import type { Hold } from '../bytes/budget.ts'
import { joinPieces, piecesLength, type Pieces } from '../bytes/pieces.ts'
import { noTexts, type LeftTexts } from '../core/image/image.ts'
import { memoryError } from '../core/error.ts'
import { assertValid } from './check-error.ts'
import { formPartsSink, type FormPart, fieldsOf, type FormReading } from './read-form.ts'
import { extractBase64 } from './extract-base64.ts'
import { checkMediaType, isForm, receive, type BodyLimits, type Sink } from './receive.ts'
import { parseBody } from './parse-json.ts'

type Described = (typeof operations)[number]

/** The parts of a form, which has been read while it arrived. */
type ArrivedForm = { parts: readonly FormPart[] }
type ReadBody = { body: unknown; texts: LeftTexts; names: FormReading['names'] }
const ownNames: FormReading['names'] = {}

/** Takes a body in. Throws `unsupported_media_type`, or what `receive` throws. */
export function bodyReceiver(
  types: readonly string[],
  form: FormReading | undefined,
  limits: BodyLimits,
): (request: IncomingMessage, hold: Hold) => Promise<Pieces | ArrivedForm> | Pieces {
  if (types.length === 0) return () => []
  return (request, hold) => {
    checkMediaType(request, types)
    return form !== undefined && isForm(request)
      ? receiveForm(request, hold, limits)
      : receiveWhole(request, hold, limits)
  }
}

/** Parses and checks a body, or keeps its bytes outside of `rest`. Throws a GatewayError. */
export function bodyReader(
  { id, bodyTypes, protocol }: Described,
  form: FormReading | undefined,
): (arrived: Pieces | ArrivedForm, hold: Hold) => ReadBody {
  if (bodyTypes.length === 0) return () => ({ body: undefined, texts: noTexts, names: ownNames })
  if (protocol !== 'rest') {
    return (arrived, hold) => {
      // Forms are taken by `rest` operations alone.
      const pieces = arrived as Pieces
      holdParsed(pieces, hold)
      return { body: joinPieces(pieces), texts: noTexts, names: ownNames }
    }
  }
  // Each `rest` operation with a body has a check, which the type of `id` does not tell.
  const check = (bodyChecks as Record<string, Check<unknown>>)[id]!
  return (arrived, hold) => {
    const read = 'parts' in arrived ? readForm(arrived.parts, form!) : readJson(arrived, hold)
    assertValid(check, read.body, { names: read.names })
    return read
  }
}

/** Smaller bodies take hardly more memory parsed than what is held for them already. */
const parsedBytesMin = 16_384

/** A parsed body is there three times: as its value, as text for a provider, and as that one's bytes. */
function holdParsed(pieces: Pieces, hold: Hold): void {
  const bytes = piecesLength(pieces)
  const refusal = bytes < parsedBytesMin ? undefined : hold.takeMore(2 * bytes)
  if (refusal !== undefined) throw memoryError(refusal)
}

function readJson(body: Pieces, hold: Hold): ReadBody {
  const { pieces, texts } = extractBase64(body)
  holdParsed(pieces, hold)
  const value = parseBody(joinPieces(pieces), () => joinPieces(body))
  return { body: value, texts, names: ownNames }
}

function readForm(parts: readonly FormPart[], { bodyOf, names }: FormReading): ReadBody {
  const { fields, texts } = fieldsOf(parts)
  return { body: bodyOf(fields), texts, names }
}

/** A body in smaller pieces on average is joined: walking over millions of them would be slow. */
const pieceBytesMin = 4096

/** Takes in a whole body, unpacked. Throws what `receive` throws. */
export function receiveWhole(
  request: IncomingMessage,
  hold: Hold,
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
  return receive(request, hold, limits, sink)
}

/** Takes in a form. Of its bytes the files' base64 alone is kept, which is a third more than they are. */
async function receiveForm(
  request: IncomingMessage,
  hold: Hold,
  limits: BodyLimits,
): Promise<ArrivedForm> {
  const sink = formPartsSink(request.headers['content-type']!)
  const parts = await receive(request, hold, limits, sink)
  const characters = parts.reduce(
    (sum, part) => sum + ('base64' in part ? piecesLength(part.base64) : 0),
    0,
  )
  const refusal = hold.takeMore(Math.ceil(characters / 4))
  if (refusal !== undefined) throw memoryError(refusal)
  return { parts }
}
