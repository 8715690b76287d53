import { schemaChecks } from '../../generated/checks.js'
import { GatewayError } from '../core/error.ts'
import { complaintOf } from '../http/check-error.ts'
import { parseBody } from '../http/parse-json.ts'
import type { MessageId } from './json-rpc.ts'

export type Params = Readonly<Record<string, unknown>>
export type RequestMessage = { kind: 'request'; id: MessageId; method: string; params: Params }
/** A JSON-RPC message of a client. */
export type Message =
  | RequestMessage
  | { kind: 'notification'; method: string; params: Params }
  | { kind: 'response' }
  | { kind: 'invalid'; id: MessageId | null; reason: string }

/** How many messages a batch may have. */
export type MessageLimits = { batchMessagesMax: number }
type Messages = { isBatch: boolean; messages: Message[] }

/**
 * Reads the body of a POST: one message or a batch; malformed messages are `invalid`. Throws a
 * GatewayError for invalid JSON, for too many values, and for a batch that is empty or too long.
 */
export function readMessages(body: Buffer, { batchMessagesMax }: MessageLimits): Messages {
  const value = parseBody(body)
  if (!Array.isArray(value)) return { isBatch: false, messages: [readMessage(value)] }
  if (value.length === 0) throw new GatewayError('invalid_value', 'The batch is empty.')
  if (value.length > batchMessagesMax) {
    throw new GatewayError(
      'invalid_value',
      `A batch holds at most ${batchMessagesMax} messages. Send the others in further ones.`,
    )
  }
  return { isBatch: true, messages: value.map(readMessage) }
}

function readMessage(value: unknown): Message {
  if (schemaChecks.JsonRpcRequest(value)) {
    const { id, method, params } = value
    return { kind: 'request', id, method, params: readParams(params ?? {}) }
  }
  const told = withoutNullId(value)
  if (schemaChecks.JsonRpcNotification(told)) {
    const { method, params } = told
    return { kind: 'notification', method, params: readParams(params ?? {}) }
  }
  if (schemaChecks.JsonRpcResultResponse(value) || schemaChecks.JsonRpcErrorResponse(value)) {
    return { kind: 'response' }
  }
  const { message } = complaintOf(schemaChecks.JsonRpcRequest)
  return invalid(idOf(value), `This is not a JSON-RPC 2.0 message. ${message}`)
}

/** Some clients give notifications an id of null, which no request may have. */
function withoutNullId(value: unknown): unknown {
  if (!isObject(value) || !('id' in value) || value.id !== null) return value
  const { id: _none, ...rest } = value
  const { method } = rest as { method?: unknown }
  return typeof method === 'string' && method.startsWith('notifications/') ? rest : value
}

/** The members that are not null, since null is absent in a request (docs/behaviour.md#errors). */
export function withoutNulls(given: object): Params {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

function readParams(given: object): Params {
  const params = withoutNulls(given)
  const { _meta: meta } = params
  return isObject(meta) ? { ...params, _meta: withoutNulls(meta) } : params
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(id: MessageId | null, reason: string): Message {
  return { kind: 'invalid', id, reason }
}

function idOf(value: unknown): MessageId | null {
  if (typeof value !== 'object' || value === null || !('id' in value)) return null
  const { id } = value
  return schemaChecks.JsonRpcId(id) ? id : null
}
