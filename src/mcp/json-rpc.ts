import { isMembers } from '../core/any-json.ts'
import { schemaChecks } from '../../generated/checks.js'
import type { components } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import type { CountRefused } from '../core/limits.ts'
import { shortened, GatewayError, toGatewayError, type ErrorCode } from '../core/error.ts'
import { complaintOf } from '../http/check-error.ts'
import { errorHeaders, type ErrorAnswer } from '../http/error-answer.ts'
import { parseBody } from '../http/parse-json.ts'
import { createPublicOrigin } from '../http/public-origin.ts'

/** JSON text in chunks, so that megabytes of base64 are not copied into one string. */
export type PrintedJson = readonly (string | Buffer)[]
export type MessageId = string | number

export type Params = Readonly<Record<string, unknown>>
export type RequestMessage = { kind: 'request'; id: MessageId; method: string; params: Params }
/** A JSON-RPC message of a client. */
export type Message =
  | RequestMessage
  | { kind: 'notification'; method: string; params: Params }
  | { kind: 'response' }
  | { kind: 'invalid'; id: MessageId | null; reason: string }

/** Limit of messages in a batch, which keeps all its answers in memory until the last call has ended. */
const batchMessagesMax = 100
/**
 * Parses the body of a POST: one message or a batch; malformed messages are `invalid`. Throws a
 * GatewayError for invalid JSON, for too many values, and for a batch that is empty or too long.
 */
export function readMessages(body: Buffer): { isBatch: boolean; messages: Message[] } {
  const value = parseBody(body)
  if (!Array.isArray(value)) return { isBatch: false, messages: [readMessage(value)] }
  if (value.length === 0) throw new GatewayError('invalid_value', 'The batch is empty.')
  if (value.length > batchMessagesMax) {
    throw new GatewayError(
      'invalid_value',
      `A batch may have at most ${batchMessagesMax} messages, not ${value.length}. Send several batches.`,
    )
  }
  return { isBatch: true, messages: value.map(readMessage) }
}

function readMessage(parsed: unknown): Message {
  const value = withoutEmpty(parsed)
  if (schemaChecks.JsonRpcRequest(value)) {
    const { id, method, params } = value
    return { kind: 'request', id, method, params: readParams(params ?? {}) }
  }
  const notification = withoutNullId(value)
  if (schemaChecks.JsonRpcNotification(notification)) {
    const { method, params } = notification
    return { kind: 'notification', method, params: readParams(params ?? {}) }
  }
  if (schemaChecks.JsonRpcResultResponse(value) || schemaChecks.JsonRpcErrorResponse(value)) {
    return { kind: 'response' }
  }
  const { message } = complaintOf(schemaChecks.JsonRpcRequest)
  return invalid(idOf(value), `This is not a JSON-RPC 2.0 message. ${message}`)
}

const objects: ReadonlySet<string> = new Set(['arguments', '_meta'])

/** Removes `params`, `arguments` and `_meta` that are an empty text or list, as PHP prints an empty object. */
function withoutEmpty(value: unknown): unknown {
  if (!isMembers(value) || !('params' in value)) return value
  const { params: given, ...rest } = value
  if (isEmpty(given)) return rest
  if (!isMembers(given)) return value
  const kept = Object.entries(given).filter(([name, one]) => !(isEmpty(one) && objects.has(name)))
  return { ...value, params: Object.fromEntries(kept) }
}

function isEmpty(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0)
}

/** Removes the id null, which some clients send with notifications. */
function withoutNullId(value: unknown): unknown {
  if (!isMembers(value) || !('id' in value) || value['id'] !== null) return value
  const { id: _none, ...rest } = value
  const { method } = rest as { method?: unknown }
  return typeof method === 'string' && method.startsWith('notifications/') ? rest : value
}

/** Removes members that are null, which a request treats as absent (docs/behaviour.md#errors). */
export function withoutNulls(members: object): Params {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}

function readParams(members: object): Params {
  const params = withoutNulls(members)
  const { _meta: meta } = params
  return isMembers(meta) ? { ...params, _meta: withoutNulls(meta) } : params
}

function invalid(id: MessageId | null, reason: string): Message {
  return { kind: 'invalid', id, reason }
}

function idOf(value: unknown): MessageId | null {
  if (typeof value !== 'object' || value === null || !('id' in value)) return null
  const { id } = value
  return schemaChecks.JsonRpcId(id) ? id : null
}

/** The error codes of JSON-RPC 2.0, of its server range (-32000 to -32019), and of the protocol. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  refused: -32000,
  unauthorized: -32001,
  headerMismatch: -32020,
  unsupportedRevision: -32022,
  /** The code that the SDK's server uses: some clients start a new session only after this code. */
  sessionNotFound: -32001,
} as const

/** The limit of an error message, which may quote values of the client. */
const messageLengthMax = 1000

/** An error that answers one JSON-RPC message; errors of tools are results instead. */
export class JsonRpcError extends Error {
  override name = 'JsonRpcError'
  readonly code: number
  readonly data: object | undefined

  constructor(code: number, message: string, data?: object) {
    super(shortened(message, messageLengthMax))
    this.code = code
    this.data = data
  }
}

/** The body of a JSON-RPC error. */
export function errorMessage(
  id: MessageId | null,
  code: number,
  message: string,
  data?: object,
): components['schemas']['JsonRpcErrorResponse'] {
  return {
    jsonrpc: '2.0',
    id,
    error: { code, message, ...(data === undefined ? {} : { data }) },
  }
}

/** The error response to a message. Rethrows anything but a JsonRpcError. */
export function refusalOf(thrown: unknown, id: MessageId | null) {
  if (!(thrown instanceof JsonRpcError)) throw thrown
  const { code, message, data } = thrown
  return errorMessage(id, code, message, data)
}

/** Counts a malformed message as a request of its key; returns an error if the key is over its limit. */
export async function countMalformed(
  countRefused: CountRefused,
  caller: Caller,
): Promise<GatewayError | undefined> {
  const malformed = new GatewayError('invalid_value', 'The message is malformed.')
  const counted = await countRefused(malformed, caller)
  return counted === malformed ? undefined : toGatewayError(counted)
}

const codesOf: Partial<Record<ErrorCode, number>> = {
  invalid_json: rpcCodes.parseError,
  invalid_value: rpcCodes.invalidRequest,
  missing_api_key: rpcCodes.unauthorized,
  invalid_api_key: rpcCodes.unauthorized,
  expired_api_key: rpcCodes.unauthorized,
  invalid_token: rpcCodes.unauthorized,
  internal_error: rpcCodes.internalError,
  not_found: rpcCodes.sessionNotFound,
}

/**
 * The errors of /mcp as JSON-RPC. A 401 has a challenge that names the metadata of RFC 9728
 * (docs/tool-protocol.md#errors-and-the-challenge).
 */
export function createErrorAnswer(baseUrl: string | undefined): ErrorAnswer {
  const publicOrigin = createPublicOrigin(baseUrl)
  return (error, { request, requestId }) => {
    const { status, message, code } = error
    const headers = errorHeaders(error)
    if (status === 401 || code === 'insufficient_scope')
      headers['www-authenticate'] = challenge(publicOrigin(request), code)
    const { type, param } = error
    const data = { type, param, code, request_id: requestId }
    const json = errorMessage(null, codesOf[code] ?? rpcCodes.refused, message, data)
    return { status, headers, json }
  }
}

function challenge(baseUrl: string, code: ErrorCode): string {
  const metadata = `${baseUrl}/.well-known/oauth-protected-resource/mcp`
  const error = code === 'insufficient_scope' ? code : 'invalid_token'
  const invalid = code === 'missing_api_key' ? '' : `, error="${error}"`
  return `Bearer realm="mcp", resource_metadata="${metadata}", scope="mcp"${invalid}`
}
