import type { IncomingMessage } from 'node:http'
import { bodyChecks, type Check } from '../../generated/checks.js'
import type { operations } from '../../generated/operations.ts'
import { joinPieces, type Pieces } from '../bytes/pieces.ts'
import { GatewayError } from '../core/error.ts'
import { noTexts, type LeftTexts } from '../core/image/image.ts'
import { assertValid } from './check-error.ts'
import { leaveTexts } from './left-texts.ts'
import { checkMediaType, mediaType, parseBody, readBody } from './read-body.ts'
import { parseForm, type FormField } from './read-form.ts'

type Described = (typeof operations)[number]

type ReadBody = { body: unknown; texts: LeftTexts }

/** Reads the bytes of a body. Throws `unsupported_media_type` or `request_too_large`. */
export function piecesReader(
  types: readonly string[],
  bytesMax: number,
): (request: IncomingMessage) => Promise<Pieces> | Pieces {
  if (types.length === 0) return () => []
  return (request) => {
    checkMediaType(request, types)
    return readBody(request, bytesMax)
  }
}

/** Parses and checks a body, or keeps its bytes outside of `rest`. Throws a GatewayError. */
export function bodyReader(
  { id, bodyTypes, protocol }: Described,
  form: ((fields: FormField[]) => object) | undefined,
): (request: IncomingMessage, pieces: Pieces) => Promise<ReadBody> | ReadBody {
  if (bodyTypes.length === 0) return () => ({ body: undefined, texts: noTexts })
  if (protocol !== 'rest')
    return (_request, pieces) => ({ body: joinPieces(pieces), texts: noTexts })
  // Each `rest` operation with a body has a check, which the type of `id` does not tell.
  const check = (bodyChecks as Record<string, Check<unknown>>)[id]!
  const checked = (read: ReadBody): ReadBody => {
    assertValid(check, read.body)
    return read
  }
  return (request, pieces) => {
    const isForm = form !== undefined && mediaType(request) === 'multipart/form-data'
    return isForm ? readForm(request, pieces, form).then(checked) : checked(readJson(pieces))
  }
}

function readJson(body: Pieces): ReadBody {
  const { pieces, texts } = leaveTexts(body)
  return { body: parseBody(joinPieces(pieces)), texts }
}

async function readForm(
  { headers }: IncomingMessage,
  pieces: Pieces,
  bodyOf: (fields: FormField[]) => object,
): Promise<ReadBody> {
  const { fields, texts } = await parseForm(joinPieces(pieces), headers['content-type']!)
  return { body: bodyOf(fields), texts }
}

/** The query parameters as strings. Throws `invalid_value` for one that is given twice. */
export function readQuery({ url = '' }: IncomingMessage): Record<string, unknown> {
  const start = url.indexOf('?')
  if (start < 0) return {}
  // No prototype: its members, such as `toString`, would count as parameters already given.
  const query: Record<string, unknown> = Object.create(null)
  for (const [name, value] of new URLSearchParams(url.slice(start))) {
    if (name in query) {
      throw new GatewayError('invalid_value', `'${name}' is given twice.`, { param: name })
    }
    query[name] = value
  }
  return query
}
