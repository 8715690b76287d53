import { nearName } from '../core/words/near-name.ts'
import type { Answer } from '../http/answer.ts'
import type { OperationCall } from '../http/operation.ts'
import { jsonAnswer } from './answer-line.ts'
import { joined } from './content.ts'
import type { Era } from './eras/era.ts'
import { JsonRpcError, refusalOf, rpcCodes, type PrintedJson } from './json-rpc.ts'
import type { Params, RequestMessage } from './messages.ts'
import type { Client } from './sessions.ts'

/** Answers the one request of a POST, which is any but `tools/call`. */
export function answerOne(
  request: RequestMessage,
  era: Era,
  call: OperationCall<'postMcp'>,
): Answer {
  const open = era.streams.get(request.method)
  if (open === undefined) {
    const { status, printed } = answerAtOnce(request, era.clientOf(call), era)
    return jsonAnswer(joined(printed), { status, headers: era.headersOf(request, call) })
  }
  try {
    return open(request, call)
  } catch (error) {
    return { status: 200, json: refusalOf(error, request.id) }
  }
}

/** Answers any request but `tools/call` and those for streams: the response and its HTTP status. */
export function answerAtOnce(
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

/** Lists of what is not offered, by method; clients that ask for them all the same would fail at an error. */
export const emptyLists: ReadonlyMap<string, string> = new Map([
  ['prompts/list', '{"prompts":[]}'],
  ['resources/list', '{"resources":[]}'],
  ['resources/templates/list', '{"resourceTemplates":[]}'],
])

/**
 * Each list has one page, so every cursor is invalid; some clients ask for the first with an empty
 * one. Throws a JsonRpcError.
 */
export function onlyPage({ cursor }: Params, page: string): string {
  if (cursor === undefined || cursor === '') return page
  throw new JsonRpcError(
    rpcCodes.invalidParams,
    "There is no such 'cursor'; the list has one page.",
  )
}

function noMethod(name: string, { methods, streams }: Era): JsonRpcError {
  if (/^(prompts|resources|completion)\//.test(name)) {
    const text = `There is no method '${name.slice(0, 200)}': no prompts and no resources are offered here, only tools.`
    return new JsonRpcError(rpcCodes.methodNotFound, text)
  }
  const near = nearName(name, ['tools/call', ...methods.keys(), ...streams.keys()])
  const remedy = near === undefined ? '' : ` Did you mean '${near}'?`
  const text = `There is no method '${name.slice(0, 200)}'.${remedy}`
  return new JsonRpcError(rpcCodes.methodNotFound, text)
}
