import type { IncomingMessage, ServerResponse } from 'node:http'
import type {
  Access,
  OperationId,
  OperationIdOf,
  RestOperationId,
} from '../../generated/operations.ts'
import type { operations } from '../../generated/types.ts'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { Actor, CallContext, Caller, Face, PersonCaller } from '../core/caller.ts'
import { tagsMax } from '../core/limits.ts'
import type { Ending } from '../core/resilience/ending.ts'
import { GatewayError } from '../core/error.ts'
import { repeatHeader } from '../core/failure.ts'
import type { Claim } from '../core/repeats/idempotency.ts'
import type { ExtractedTexts } from '../core/image/image.ts'
import type { Warning } from '../core/model.ts'
import type { Trace } from '../core/trace.ts'
import { nearName } from '../core/words/near-name.ts'
import type { Answer } from './answer.ts'
import type { ClientAddress } from './client-address.ts'
import type { ResponseStream } from './response-stream.ts'

type Parameters<
  Id extends OperationId,
  Place extends 'query' | 'path',
> = operations[Id]['parameters'] extends { [P in Place]?: infer T } ? NonNullable<T> : object

/** The JSON body of an operation with its defaults filled in; unparsed bytes outside of `rest`. */
export type Body<Id extends OperationId> = Id extends RestOperationId
  ? operations[Id] extends { requestBody: { content: { 'application/json': infer T } } }
    ? T
    : undefined
  : operations[Id] extends { requestBody: object }
    ? Buffer
    : undefined

/** The type of the caller, by the access that the contract declares. */
type CallerBy = {
  caller: { caller: Caller }
  person: { caller: PersonCaller }
  anyone: { caller: PersonCaller | undefined }
  public: object
  client: object
}
type AccessOf<Id extends OperationId> = {
  [A in Access]: Id extends OperationIdOf<A> ? A : never
}[Access]

/** A request of an operation, authenticated and validated against the contract. */
export type OperationCall<Id extends OperationId> = CallerBy[AccessOf<Id>] & {
  requestId: string
  /** The state of the HTTP request, as in CallContext. */
  exchange: CallContext['exchange']
  body: Body<Id>
  /** Base64 texts of pictures by the tickets that replace them in the body (`read-body.ts`). */
  texts: ExtractedTexts
  /** The form field names of body members, where they differ; undefined if the body is no form. */
  names: Readonly<Record<string, string>> | undefined
  query: Parameters<Id, 'query'>
  path: Parameters<Id, 'path'>
  /** The headers that the contract defines, converted to their types. */
  options: GatewayOptions
  ending: Ending
  /** The memory that the call holds. */
  memory: MemoryHold
  /** The trace of the request, if tracing is on. */
  trace?: Trace | undefined
  /** The claim of the call's idempotency key (`idempotent.ts`). */
  claim?: Pick<Claim, 'isRepeat' | 'earlierId' | 'vendorKey'>
  /** Set if the request streams its answer. */
  stream?: ResponseStream
  request: IncomingMessage
  /** The response, for a handler that leaves it to another server. */
  response: ServerResponse
  addressOf: ClientAddress
}

/**
 * Handles an operation. Throws a GatewayError. Undefined if another server writes `response`.
 *
 * @example
 * const listNothing: Operation<'listModels'> = async ({ caller }) => {
 *   if (caller.models?.length === 0) throw new GatewayError('model_not_allowed', 'No models.')
 *   return { status: 200, json: { object: 'list', data: [] } }
 * }
 */
export type Operation<Id extends OperationId> = (
  call: OperationCall<Id>,
) => Promise<Id extends OperationIdOf<'client'> ? Answer | undefined : Answer>

/** The actor that the audit log records. */
export function actorOf({
  caller,
  request,
  addressOf,
}: {
  caller: Caller
  request: IncomingMessage
  addressOf: ClientAddress
}): Actor {
  return { id: caller.person?.id ?? caller.keyId, address: addressOf(request) }
}

/** The headers that control a call, equal for every operation that calls a model. */
type GatewayOptions = NonNullable<operations['createImage']['parameters']['header']>

/** The core's context of a call, with cache, strict and fallback options from its headers. */
export function contextOf(
  call: Pick<CallContext, 'caller' | 'requestId' | 'exchange' | 'ending' | 'memory' | 'trace'> & {
    options: GatewayOptions
    claim?: Pick<Claim, 'isRepeat' | 'vendorKey'>
    body?: unknown
  },
  face: Face,
  warnings?: readonly Warning[],
): CallContext {
  const { caller, requestId, exchange, ending, memory, trace, options } = call
  const control = options['cache-control']?.toLowerCase() ?? ''
  const ttl = options['x-gateway-cache-ttl']
  const ttlMs = ttl === undefined ? undefined : Number(ttl) * 1000
  // A cassette has the answers of vendors, and a provider state its own.
  const isPlayed = caller.cassette !== undefined || caller.played !== undefined
  const off = control.includes('no-store') || ttlMs === 0 || isPlayed
  return {
    caller,
    requestId,
    exchange,
    face,
    ending,
    memory,
    cache: {
      mayRead: !off && !control.includes('no-cache'),
      mayStore: !off,
      ttlMs,
    },
    tags: tagsOf(options['x-gateway-tags'], hasMetadata(face) ? call.body : undefined),
    strict: options['x-gateway-strict'] === 'true',
    fallback: options['x-gateway-no-fallback'] !== 'true',
    allowRepeat: options[repeatHeader] === 'true',
    isRepeat: call.claim?.isRepeat === true,
    vendorKey: call.claim?.vendorKey,
    trace,
    warnings,
  }
}

/** Whether tags are in `metadata`; that of messages has the id of a user. */
const hasMetadata = (face: Face) => face === 'chat' || face === 'responses'
/** The contract's `CallTag`. Values of `metadata` may be texts of users, which rows must not contain. */
const plainTag = /^[\w.:=@/+-]{1,64}$/

/** The tags of the header, then those of `metadata`, without repetitions. */
function tagsOf(header: string | undefined, body: unknown): string[] | undefined {
  const metadata = (body as { metadata?: unknown } | undefined)?.metadata
  if (header === undefined && (typeof metadata !== 'object' || metadata === null)) return undefined
  const pairs = Object.entries(metadata ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' ? [`${name}=${value}`] : [],
  )
  const named = header?.split(',').map((tag) => tag.trim()) ?? []
  const plain = pairs.filter((tag) => plainTag.test(tag))
  return [...new Set([...named, ...plain])].slice(0, tagsMax)
}

/** The headers that the contract defines for an operation; a check of them may change the object. */
export function headersNamed(names: readonly string[], { headers }: IncomingMessage): object {
  const found: Record<string, unknown> = {}
  for (const name of names) if (headers[name] !== undefined) found[name] = headers[name]
  return found
}

type QueryNames = { queryNames: readonly string[]; queryLists: readonly string[] }

/**
 * The query parameters of an operation as strings, or as lists of comma-separated strings. Empty
 * and unknown parameters are ignored. Throws `invalid_value` for a repeated parameter and
 * `unknown_parameter` for a misspelled one.
 */
export function readQuery(
  { url = '' }: IncomingMessage,
  { queryNames: known, queryLists: lists }: QueryNames,
): object {
  const start = url.indexOf('?')
  if (start < 0) return {}
  // An object without a prototype, whose members (`toString`) would count as parameters.
  const query: Record<string, unknown> = Object.create(null)
  for (const [name, value] of new URLSearchParams(url.slice(start))) {
    if (!known.includes(name)) {
      refuseMisspelled(name, known)
      continue
    }
    if (name in query) {
      throw new GatewayError('invalid_value', `'${name}' is given twice.`, { param: name })
    }
    if (value !== '') query[name] = lists.includes(name) ? value.split(',') : value
  }
  return query
}

function refuseMisspelled(name: string, known: readonly string[]): void {
  const meant = nearName(name, known)
  if (meant === undefined) return
  const text = `There is no parameter '${name}'. Did you mean '${meant}'?`
  throw new GatewayError('unknown_parameter', text, { param: name })
}
