import type { IncomingMessage } from 'node:http'
import type { Router } from '@koa/router'
import type Koa from 'koa'
import { bodyChecks, type Check } from '../../generated/checks.js'
import { operations, type OperationId, type Protocol } from '../../generated/operations.ts'
import { headerChecks, queryChecks } from '../../generated/parameter-checks.js'
import { joinPieces, type Pieces } from '../bytes/pieces.ts'
import type { Identify } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { noTexts, type LeftTexts } from '../core/image/image.ts'
import { assertValid } from './check-error.ts'
import { MethodNotAllowed, type ErrorAnswer } from './error-answer.ts'
import type { ExchangeState } from './exchange.ts'
import { leaveTexts } from './left-texts.ts'
import type { Operation, OperationCall } from './operation.ts'
import { checkMediaType, mediaType, parseBody, readBody } from './read-body.ts'
import { parseForm, type FormField } from './read-form.ts'

/** Every operation of the contract: one that is missing does not compile. */
export type Operations = { [Id in OperationId]: Operation<Id> }

type Options = {
  handlers: Operations
  /** For operations that take a form as well: the JSON body that says the same. */
  forms: Partial<Record<OperationId, (fields: FormField[]) => object>>
  identify: Identify
  bodyBytesMax: number
}

type Handler = (
  context: Koa.ParameterizedContext<ExchangeState> & { params?: object },
) => Promise<void>

/**
 * Binds each operation of the contract to its handler, behind authentication and the checks. What it
 * gives goes before the router: a path without parameters is found by looking it up.
 */
export function bindOperations(
  router: Router<ExchangeState>,
  { handlers, forms, identify, bodyBytesMax }: Options,
): Koa.Middleware<ExchangeState> {
  const exact = new Map<string, Handler>()
  const whoIs = (request: IncomingMessage) =>
    identify({
      authorization: request.headers.authorization,
      apiKey: header(request, 'x-api-key'),
    })
  for (const operation of operations) {
    const { id, method, path, bodyTypes } = operation
    // Which operation this is, only the loop knows: the types of its parts belong together.
    const handle = handlers[id] as Operation<OperationId>
    const readPieces = piecesReader(bodyTypes, bodyBytesMax)
    const readOperationBody = bodyReader(operation, forms[id])
    const answer: Handler = async ({ req: request, state, params }) => {
      const known = whoIs(request)
      // What is known at once need not be waited for.
      const caller = known instanceof Promise ? await known : known
      state.caller = caller
      const options = { ...request.headers }
      assertValid(headerChecks[id], options)
      const query = readQuery(request)
      assertValid(queryChecks[id], query)
      const read = readOperationBody(request, await readPieces(request))
      const { body, texts } = read instanceof Promise ? await read : read
      const { requestId, ending } = state
      const call = {
        caller,
        requestId,
        ending,
        request,
        body,
        texts,
        query,
        path: params,
        options,
      }
      state.answer = await handle(call as unknown as OperationCall<OperationId>)
    }
    router[method](routePath(path), answer)
    if (!path.includes('{')) exact.set(`${method.toUpperCase()} ${path}`, answer)
  }
  for (const path of pathsOfOwnProtocol.keys()) {
    // Such a face tells nothing to strangers, not even which methods it has.
    router.all(routePath(path), async ({ req: request, state }) => {
      state.caller = await whoIs(request)
      const methods = operations.filter((one) => one.path === path).map((one) => one.method)
      throw new MethodNotAllowed(request, methods)
    })
  }
  return (context, next) => {
    const answer = exact.get(`${context.method} ${context.req.url}`)
    return answer === undefined ? next() : answer(context)
  }
}

const pathsOfOwnProtocol: ReadonlyMap<string, Protocol> = new Map(
  operations.flatMap(({ path, protocol }) => (protocol === 'rest' ? [] : [[path, protocol]])),
)

/** How errors are worded at a path: as the contract says, by its face where it has a protocol of its own. */
export function errorAnswersByPath(
  answers: Record<Protocol, ErrorAnswer>,
): (path: string) => ErrorAnswer {
  return (path) => answers[pathsOfOwnProtocol.get(path.replace(/\/$/, '')) ?? 'rest']
}

/** `{model}` of the last segment takes slashes too: model identifiers have them. */
function routePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}$/g, '*$1')
}

type ReadBody = { body: unknown; texts: LeftTexts }

/** Reads the bytes of a body that is of one of these types. */
function piecesReader(
  types: readonly string[],
  bytesMax: number,
): (request: IncomingMessage) => Promise<Pieces> | Pieces {
  if (types.length === 0) return () => []
  return (request) => {
    checkMediaType(request, types)
    return readBody(request, bytesMax)
  }
}

/** Reads what a body says, and checks it. */
function bodyReader(
  { id, bodyTypes, protocol }: (typeof operations)[number],
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

function readQuery({ url = '' }: IncomingMessage): Record<string, unknown> {
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

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
