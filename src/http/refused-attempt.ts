import type { IncomingMessage } from 'node:http'
import type { components } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import { clientOfUserAgent, type RefusedAttempt } from '../core/connection-log.ts'
import type { ErrorCode, GatewayError } from '../core/error.ts'

/** Reasons that the account can see. */
const reasons: Partial<Record<ErrorCode, components['schemas']['AttemptReason']>> = {
  expired_api_key: 'key_expired',
  invalid_api_key: 'key_revoked',
  invalid_token: 'connection_ended',
  ip_not_allowed: 'address_not_allowed',
  insufficient_scope: 'scope_missing',
  model_not_allowed: 'model_not_allowed',
  insufficient_quota: 'budget_spent',
}

/** A refused request with its known details. */
export type Refused = {
  request: Pick<IncomingMessage, 'headers' | 'url'>
  requestId: string
  caller: Caller | undefined
  address: string | null
}

/** The connection attempt that a refusal shows; undefined for other refusals. */
export function attemptOf(
  error: GatewayError,
  { request, requestId, caller, address }: Refused,
): RefusedAttempt | undefined {
  // A person on a page of the gateway sees the error on that page.
  if (caller?.person !== undefined) return undefined
  const whose = error.concerns ?? caller
  const known = reasons[error.code]
  const reason =
    whose === undefined ? (error.code === 'invalid_api_key' ? 'key_unknown' : undefined) : known
  if (reason === undefined) return undefined
  const { headers, url = '' } = request
  return {
    reason,
    message: error.message,
    face: faceOf(url),
    header: headerOf(headers),
    client: clientOfUserAgent(headers['user-agent']),
    accountId: whose?.accountId,
    keyId: whose?.keyId,
    address,
    requestId,
  }
}

function faceOf(url: string): RefusedAttempt['face'] {
  const face = /^\/(v1|mcp|api)(?=[/?]|$)/.exec(url)?.[1]
  return face === undefined ? 'oauth' : (face as 'v1' | 'mcp' | 'api')
}

function headerOf(headers: IncomingMessage['headers']): RefusedAttempt['header'] {
  if (headers.authorization !== undefined) return 'authorization'
  return headers['x-api-key'] === undefined ? undefined : 'x-api-key'
}
