import type { Router } from '@koa/router'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { OpenAPIBackend, type Document, type Operation as BackendOperation } from 'openapi-backend'
import {
  operations,
  securitySchemes,
  type Access,
  type OperationId,
  type OperationIdOf,
} from '../../generated/operations.ts'
import { headerChecks, queryChecks } from '../../generated/parameter-checks.js'
import { GatewayError } from '../core/error.ts'
import type { CountRefused } from '../core/limits.ts'
import type { ClaimKey } from '../core/repeats/idempotency.ts'
import type { ReferenceCount } from '../core/resilience/ending.ts'
import type { Answer } from './answer.ts'
import {
  authorizerOf,
  noContext,
  type ActFor,
  type Registered,
  type SecurityHandlers,
} from './security.ts'
import { assertValid } from './check-error.ts'
import type { ClientAddress } from './client-address.ts'
import { MethodNotAllowed } from './error-answer.ts'
import type { ExchangeContext, ExchangeState, OperationHandler } from './exchange.ts'
import { answerOncePerKey, keyHeader, type AnswerInUse } from './idempotent.ts'
import { pathMeant } from './near-path.ts'
import { headersNamed, readQuery, type Operation, type OperationCall } from './operation.ts'
import { bodyReader, bodyReceiver } from './read-body.ts'
import type { FormReading } from './read-form.ts'
import type { BodyLimits } from './receive.ts'
import type { ResponseStreams } from './response-stream.ts'

/** A handler for every operation of the contract; a missing one is a compile error. */
export type Operations = { [Id in OperationId]: Operation<Id> }

/** The current operations. A reload replaces them; running requests finish with the earlier operations. */
export type InForce = Pick<ReferenceCount, 'enter' | 'leave'> & {
  operations: Operations
  /** Answers requests of operations that make jobs. */
  answerInUse: AnswerInUse
}

type Options = {
  inForce: () => InForce
  /** Operations that also accept a form. */
  forms: Partial<Record<OperationId, FormReading>>
  security: SecurityHandlers
  /** Returns the caller acting for another account. */
  actFor: ActFor
  addressOf: ClientAddress
  claimKey: ClaimKey
  countRefused: CountRefused
  streams: ResponseStreams
  limits: BodyLimits
}

/** Maximum body size of OAuth endpoints; a client registration has a few kilobytes. */
const oauthRequestBytesMax = 65_536

export type ContractRouter = ReturnType<typeof createContractRouter>

const document = new URL('../../generated/routes.json', import.meta.url)

/** The contract in openapi-backend, without handlers. */
export type LoadedContract = OpenAPIBackend

export async function loadContract(): Promise<LoadedContract> {
  const definition = JSON.parse(await readFile(document, 'utf8')) as Document
  const options = { definition, quick: true, strict: true, validate: false }
  const backend = await new OpenAPIBackend(options).init()
  // Otherwise each registration of a handler lists all operations anew, which takes 1 ms.
  const described = backend.router.getOperations()
  backend.router.getOperations = () => described
  return backend
}

/**
 * Builds the router from the contract. openapi-backend holds the handlers by operationId and the
 * security of each operation. The router reads them once into a table, because openapi-backend's
 * `handleRequest` flattens the document for each request (docs/performance.md#routing).
 */
export function createContractRouter(backend: LoadedContract, options: Options) {
  registerHandlers(backend, options)
  registerRefusals(backend, options.security)
  const described = backend.router.getOperations()
  const paths = new Map<
    string,
    { methods: Map<string, OperationHandler>; refusal: OperationHandler }
  >()
  const patterns: { method: string; path: string; handler: OperationHandler }[] = []
  for (const operation of described) {
    const { method, path } = operation
    const handler = handlerOf(operation, backend, options)
    if (path.includes('{')) {
      patterns.push({ method, path, handler })
      continue
    }
    const refusal = methodRefusal(operation, backend, options)
    for (const one of [path, ...operationOf(operation).alsoAt]) {
      const { methods } = paths.get(one) ?? { methods: new Map() }
      paths.set(one, { methods: methods.set(method.toUpperCase(), handler), refusal })
    }
  }
  return {
    /**
     * Returns the handler for a request; for a wrong method, a handler that refuses the request.
     * Undefined if the path is not literally in the contract: the path is unknown or has parameters.
     */
    find: ({ method = '', url = '' }: IncomingMessage) => {
      const found = paths.get(url) ?? paths.get(url.split('?', 1)[0]!.replace(/(?<=.)\/$/, ''))
      return found?.methods.get(method === 'HEAD' ? 'GET' : method) ?? found?.refusal
    },
    /** Registers operations whose paths have parameters; a trailing parameter may contain slashes. */
    bindPatterns: (router: Router<ExchangeState>) => {
      for (const { method, path, handler } of patterns) {
        router.register(patternOf(path), [method], (context) => handler(context))
      }
    },
    /** Throws `method_not_allowed`, or `not_found` if `methods` is empty. */
    refuse: (request: IncomingMessage, methods: readonly string[]): never => {
      const { notFound, methodNotAllowed } = backend.handlers
      const refuse = methods.length === 0 ? notFound : methodNotAllowed
      // `notFound` and `methodNotAllowed` always throw.
      return refuse!(noContext, request, methods) as never
    },
  }
}

function registerHandlers(
  backend: OpenAPIBackend,
  { inForce, forms, addressOf, claimKey, streams, limits }: Options,
): void {
  for (const operation of operations) {
    const { id } = operation
    const names: readonly string[] = operation.headerNames
    const answerOnce = names.includes(keyHeader) ? answerOncePerKey(id, claimKey) : undefined
    const isOAuth = operation.protocol === 'oauth'
    const requestBytesMax = isOAuth ? oauthRequestBytesMax : limits.requestBytesMax
    const receiveBody = bodyReceiver(operation.bodyTypes, forms[id], { ...limits, requestBytesMax })
    const readBody = bodyReader(operation, forms[id])
    backend.register(id, async (_context, exchange: ExchangeContext) => {
      const { req: request, res: response, state, params } = exchange
      const options = headersNamed(names, request)
      assertValid(headerChecks[id], options)
      // An invalid authorization request may have to be reported to the redirect address of the
      // client.
      const query = isOAuth ? {} : readQuery(request, operation)
      assertValid(queryChecks[id], query)
      const content = readBody(await receiveBody(request, state.memory), state.memory)
      const { caller } = state
      const others = state.memory.yieldIfLarge()
      if (others !== undefined) await others
      const call = {
        caller,
        requestId: state.requestId,
        exchange: state,
        ending: state.ending,
        memory: state.memory,
        trace: state.trace,
        request,
        response,
        addressOf,
        body: content.body,
        texts: content.texts,
        names: content.names,
        query,
        path: params,
        options,
      }
      const { operations: handlers, answerInUse, enter, leave } = inForce()
      // Handler and call belong to the same operation `id`, which TypeScript cannot infer.
      const answerPlainly = handlers[id] as Operation<OperationIdOf<'caller'>>
      // Replayed answers are sent at once.
      const answerStreamed: typeof answerPlainly = (one) => {
        state.stream = streams.open(response, state)
        one.stream = state.stream.stream
        return answerPlainly(one)
      }
      const isStreamed = operation.streams && Object(content.body).stream === true
      const handle = isStreamed ? answerStreamed : answerPlainly
      enter()
      try {
        // Body, query and headers have passed the checks of this operation.
        const checked = call as unknown as OperationCall<OperationIdOf<'caller'>>
        const isOnce = answerOnce !== undefined && request.headers[keyHeader] !== undefined
        const answer: Answer | undefined = await (isOnce
          ? answerOnce(checked, handle, names.includes('prefer') ? answerInUse : undefined)
          : handle(checked))
        if (answer === undefined) exchange.respond = false
        else state.answer = caller === undefined || caller.person ? notKept(answer) : answer
      } finally {
        leave()
      }
    })
  }
}

function registerRefusals(backend: OpenAPIBackend, security: SecurityHandlers): void {
  backend.register({
    unauthorizedHandler: (_context, request: IncomingMessage, access: Access) =>
      security.unauthorized(request, access),
    notFound: (_context, { url = '' }: IncomingMessage) => {
      const path = url.split('?', 1)[0]!.slice(0, 200)
      const remedy = pathMeant(path) ?? '/docs lists all paths.'
      throw new GatewayError('not_found', `Unknown path ${path}. ${remedy}`)
    },
    methodNotAllowed: (_context, request: IncomingMessage, methods: readonly string[]) => {
      throw new MethodNotAllowed(request, methods)
    },
  })
  for (const scheme of securitySchemes) {
    const handler = security[scheme]
    backend.registerSecurityHandler(scheme, (_context, request: IncomingMessage) =>
      handler(request),
    )
  }
}

const forThatPerson = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
}

/** Forbids caches, which ignore cookies, and other sites to keep or read answers to people. */
function notKept({ headers, ...answer }: Answer): Answer {
  return { ...answer, headers: { ...forThatPerson, ...headers } }
}

function handlerOf(
  described: BackendOperation,
  registered: Registered,
  { actFor, addressOf, countRefused }: Pick<Options, 'actFor' | 'addressOf' | 'countRefused'>,
): OperationHandler {
  const { headerNames, protocol } = operationOf(described)
  // Calls are operations that accept idempotency keys, and the tool server.
  const isTool = protocol === 'json-rpc' && described.method === 'post'
  const isCall = isTool || headerNames.includes(keyHeader)
  const authorize = authorizerOf(described, registered, { actFor, addressOf })
  const answer = registered.handlers[described.operationId!]!
  return async (context) => {
    const known = authorize(context.req)
    // `await` on a plain value would still cost a microtask.
    const caller = known instanceof Promise ? await known : known
    if (caller !== undefined) {
      context.state.caller = caller
      context.state.memory.own(caller.accountId)
    }
    try {
      await answer(noContext, context)
    } catch (thrown) {
      throw isCall ? await countRefused(thrown, caller) : thrown
    }
  }
}

type Described = Pick<(typeof operations)[number], 'protocol'> &
  Readonly<Record<'alsoAt' | 'headerNames', readonly string[]>>

function operationOf({ operationId }: BackendOperation): Described {
  return operations.find(({ id }) => id === operationId)!
}

/** Refuses unsupported methods of a path, outside of `rest` after the authentication. */
function methodRefusal(
  described: BackendOperation,
  registered: Registered,
  { addressOf }: Pick<Options, 'addressOf'>,
): OperationHandler {
  const { path } = described
  const isRest = operationOf(described).protocol === 'rest'
  const methods = operations
    .filter((one) => one.path === path)
    .flatMap(({ method }) => (method === 'get' && isRest ? ['head', method] : [method]))
  const authorize = isRest ? undefined : authorizerOf(described, registered, { addressOf })
  const refuse = registered.handlers['methodNotAllowed']!
  return async ({ req: request, state }) => {
    const caller = await authorize?.(request)
    if (caller !== undefined) state.caller = caller
    refuse(noContext, request, methods)
  }
}

/** The path for the router; a trailing model id may contain slashes. */
function patternOf(path: string): string {
  return path.replace(/\{(model)\}$/, '*$1').replaceAll(/\{(\w+)\}/g, ':$1')
}
