import { nearName } from '../../core/words/near-name.ts'
import type { Answer } from '../../http/answer.ts'
import type { OperationCall } from '../../http/operation.ts'
import {
  JsonRpcError,
  refusalOf,
  rpcCodes,
  type Message,
  type Params,
  type PrintedJson,
  type RequestMessage,
} from '../json-rpc.ts'
import { jsonAnswer } from '../post-response.ts'
import type { Client } from '../sessions.ts'
import type { PrintedResult } from '../tool.ts'

type Call = OperationCall<'postMcp'>

/** Answers a request synchronously with its result as JSON. Throws a JsonRpcError. */
export type Method = (params: Params, client: Client) => string

export type Post = { isBatch: boolean; messages: readonly Message[] }

/** The differences between the two eras of the protocol (docs/tool-protocol.md#eras). */
export type Era = {
  /**
   * Throws a JsonRpcError or GatewayError if the messages or their headers are not valid in this era, and
   * `not_found` for an unknown session.
   */
  assertAllowed(post: Post, call: Call): void
  /** The sender of these messages. */
  clientOf(call: Call): Client
  headersOf(request: RequestMessage, call: Call): Answer['headers']
  methods: ReadonlyMap<string, Method>
  /** Methods that are answered with an event stream. */
  streams: ReadonlyMap<string, (request: RequestMessage, call: Call) => Answer>
  /** The HTTP status of an error that answers one request. */
  statusOf(code: number): number
  /** The result of a call, with the members that this era requires in all results. */
  print(result: PrintedResult): PrintedJson
  /** Whether `notifications/cancelled` cancels a call; if not, only closing its connection does. */
  takesCancellation: boolean
  /** Whether the answer to a tool call contains log messages if its `_meta` requests them. */
  logsInAnswer: boolean
}

/** Answers a POST with one request of a method other than `tools/call`. */
export function answerRequest(request: RequestMessage, era: Era, call: Call): Answer {
  const open = era.streams.get(request.method)
  if (open === undefined) {
    const { status, printed } = respond(request, era.clientOf(call), era)
    return jsonAnswer(printed, { status, headers: era.headersOf(request, call) })
  }
  try {
    return open(request, call)
  } catch (error) {
    return { status: 200, json: refusalOf(error, request.id) }
  }
}

/** The response and its HTTP status, for all methods except `tools/call` and methods with streams. */
export function respond(
  { id, method, params }: RequestMessage,
  client: Client,
  era: Era,
): { status: number; printed: PrintedJson } {
  try {
    const answer = era.methods.get(method)
    if (answer === undefined) throw noMethod(method, era)
    const result = answer(params, client)
    return {
      status: 200,
      printed: [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`],
    }
  } catch (thrown) {
    const refusal = refusalOf(thrown, id)
    return { status: era.statusOf(refusal.error.code), printed: [JSON.stringify(refusal)] }
  }
}

/** Empty lists by method: some clients request prompts and resources in any case, and fail on an error. */
export const emptyLists: ReadonlyMap<string, string> = new Map([
  ['prompts/list', '{"prompts":[]}'],
  ['resources/list', '{"resources":[]}'],
  ['resources/templates/list', '{"resourceTemplates":[]}'],
])

/**
 * Each list has one page, so every cursor is invalid; some clients request the first page with an empty
 * cursor. Throws a JsonRpcError.
 */
export function onlyPage({ cursor }: Params, page: string): string {
  if (cursor === undefined || cursor === '') return page
  throw new JsonRpcError(
    rpcCodes.invalidParams,
    "The 'cursor' is unknown. Omit it: the list has one page.",
  )
}

function noMethod(name: string, { methods, streams }: Era): JsonRpcError {
  if (/^(prompts|resources|completion)\//.test(name)) {
    const text = `There is no method '${name.slice(0, 200)}': this server has only tools, no prompts and no resources.`
    return new JsonRpcError(rpcCodes.methodNotFound, text)
  }
  const near = nearName(name, ['tools/call', ...methods.keys(), ...streams.keys()])
  const remedy = near === undefined ? '' : ` Did you mean '${near}'?`
  const text = `There is no method '${name.slice(0, 200)}'.${remedy}`
  return new JsonRpcError(rpcCodes.methodNotFound, text)
}
