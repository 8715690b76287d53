import type { components } from '../../generated/types.ts'
import type { ErrorCode } from '../core/error.ts'
import { shortened } from '../core/words/shorten.ts'
import { errorHeaders, type ErrorAnswer } from '../http/error-answer.ts'
import { createPublicOrigin } from '../http/public-origin.ts'

/** JSON text in pieces, so that megabytes of base64 are not copied into one string. */
export type PrintedJson = readonly (string | Buffer)[]
export type MessageId = string | number

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
  /** As the SDK's server has it: some clients begin another session only if they read this code. */
  sessionNotFound: -32001,
} as const

/** What clients sent may be in it. */
const messageLengthMax = 1000

/** Refuses one JSON-RPC message; errors of tools are results instead. */
export class JsonRpcError extends Error {
  override name = 'JsonRpcError'
  readonly code: number
  /** What else a client is told. */
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

/** The body that refuses a message. Throws what is no JsonRpcError. */
export function refusalOf(thrown: unknown, id: MessageId | null) {
  if (!(thrown instanceof JsonRpcError)) throw thrown
  const { code, message, data } = thrown
  return errorMessage(id, code, message, data)
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
    if (status === 401) headers['www-authenticate'] = challenge(publicOrigin(request), code)
    const { type, param } = error
    const data = { type, param, code, request_id: requestId }
    const json = errorMessage(null, codesOf[code] ?? rpcCodes.refused, message, data)
    return { status, headers, json }
  }
}

function challenge(baseUrl: string, code: ErrorCode): string {
  const metadata = `${baseUrl}/.well-known/oauth-protected-resource/mcp`
  const invalid = code === 'missing_api_key' ? '' : ', error="invalid_token"'
  return `Bearer realm="mcp", resource_metadata="${metadata}", scope="mcp"${invalid}`
}
