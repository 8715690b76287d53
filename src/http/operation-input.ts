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

/** Reads the bytes of a body that is of one of these types. */
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

/** Reads what a body says, and checks it. Throws a GatewayError that names the parameter. */
export function bodyReader(
  { id, bodyTypes, protocol }: Described,
  form: ((fields: FormField[]) => object) | undefined,
): (request: IncomingMessage, pieces: Pieces) => Promise<ReadBody> | ReadBody {
  if (bodyTypes.length === 0) return () => ({ body: undefined, texts: noTexts })
  if (protocol !== 'rest')
    return (_request, pieces) => ({ body: joinPieces(pieces), texts: noTexts })
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

/** The query's parameters as texts. Throws `invalid_value` for one that is given twice. */
export function readQuery({ url = '' }: IncomingMessage): Record<string, unknown> {
  const start = url.indexOf('?')
  if (start < 0) return {}
  // Without a prototype, whose members would be taken for parameters.
  const query = Object.create(null) as Record<string, unknown>
  for (const [name, value] of new URLSearchParams(url.slice(start))) {
    if (name in query) {
      throw new GatewayError('invalid_value', `'${name}' is given twice.`, { param: name })
    }
    query[name] = value
  }
  return query
}
