import type { IncomingMessage } from 'node:http'
import type { components } from '../../generated/types.ts'
import type { ErrorCode, GatewayError } from '../core/error.ts'
import type { Answer } from '../http/answer.ts'
import { errorHeaders } from '../http/error-answer.ts'

/** JSON that is printed already, in pieces. */
export type Pieces = readonly (string | Buffer)[]
export type MessageId = string | number

/** The codes of JSON-RPC 2.0, and those that MCP's servers use beside them. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  refused: -32000,
  unauthorized: -32001,
} as const

/** Refuses one message of the protocol; what a tool has to complain about is a result instead. */
export class JsonRpcError extends Error {
  override name = 'JsonRpcError'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
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

const codesOf: Partial<Record<ErrorCode, number>> = {
  invalid_json: rpcCodes.parseError,
  invalid_value: rpcCodes.invalidRequest,
  missing_api_key: rpcCodes.unauthorized,
  invalid_api_key: rpcCodes.unauthorized,
  expired_api_key: rpcCodes.unauthorized,
  internal_error: rpcCodes.internalError,
}

/**
 * Words the errors of /mcp as JSON-RPC, with the challenge of behaviour.md section 7: it leads a
 * client without a key to the metadata of RFC 9728.
 */
export function createErrorAnswer(baseUrl: string | undefined) {
  return (error: GatewayError, request: IncomingMessage): Answer => {
    const { status, message, code } = error
    const headers = errorHeaders(error)
    if (status === 401) headers['www-authenticate'] = challenge(baseUrl ?? addressOf(request), code)
    const json = errorMessage(null, codesOf[code] ?? rpcCodes.refused, message, dataOf(error))
    return { status, headers, json }
  }
}

function dataOf({ type, param, code }: GatewayError): object {
  return { type, param, code }
}

function challenge(baseUrl: string, code: ErrorCode): string {
  const metadata = `${baseUrl}/.well-known/oauth-protected-resource/mcp`
  const invalid = code === 'missing_api_key' ? '' : ', error="invalid_token"'
  return `Bearer realm="mcp", resource_metadata="${metadata}", scope="mcp"${invalid}`
}

/** Where the caller reached us; a forged name comes back to its forger alone. */
function addressOf({ headers, socket }: IncomingMessage): string {
  const host = /^[\w.[\]:-]{1,255}$/.exec(headers.host ?? '')?.[0]
  return `http://${host ?? `${socket.localAddress}:${socket.localPort}`}`
}
