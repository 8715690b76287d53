import { hash } from 'node:crypto'
import { configure } from 'safe-stable-stringify'
import type { CallContext } from '../caller.ts'
import { GatewayError } from '../error.ts'

const stringify = configure({ deterministic: true, circularValue: Error })

/**
 * Names a request in the response cache: the account, what of the call's handling changes an answer, and
 * the whole canonical request, whatever the order of its keys. Keyed by account, since two customers
 * must never see each other's answers (docs/behaviour.md#cache).
 */
export function cacheKey(
  { caller, strict, fallback }: Pick<CallContext, 'caller' | 'strict' | 'fallback'>,
  modality: string,
  request: unknown,
): string {
  const { accountId, mode } = caller
  const handling = `${strict ? 'strict' : ''} ${fallback ? 'fallback' : ''}`
  return hash(
    'sha256',
    `${accountId}\n${mode}\n${handling}\n${modality}\n${text(request)}`,
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
