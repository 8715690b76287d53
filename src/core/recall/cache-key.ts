import { hash } from 'node:crypto'
import { configure } from 'safe-stable-stringify'
import type { Caller } from '../caller.ts'
import { GatewayError } from '../error.ts'

const stringify = configure({ deterministic: true, circularValue: Error })

/**
 * Names a request in the response cache: the account and the whole canonical request, whatever the
 * order of its keys. Keyed by account, since two customers must never see each other's answers.
 */
export function cacheKey(caller: Caller, modality: string, request: unknown): string {
  return hash(
    'sha256',
    `${caller.accountId}\n${caller.mode}\n${modality}\n${text(request)}`,
    'base64url',
  )
}

function text(request: unknown): string {
  try {
    return stringify(request) ?? ''
  } catch (cause) {
    // The stack overflows on values that are nested thousands of levels deep.
    throw new GatewayError('invalid_value', 'The request is nested too deeply.', { cause })
  }
}
