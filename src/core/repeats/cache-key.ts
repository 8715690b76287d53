import { hash } from 'node:crypto'
import { configure } from 'safe-stable-stringify'
import type { CallContext } from '../caller.ts'
import { GatewayError } from '../error.ts'

const stringify = configure({ deterministic: true, circularValue: Error })

type Handling = Pick<CallContext, 'caller' | 'strict' | 'fallback'> & {
  /** A digest of the settings that map a model name to an answer. */
  settingsDigest: string
}

/**
 * The cache key of a request: a digest of the account, the handling that changes an answer, and the canonical
 * request, independent of the order of its members. The account is part of the key because customers must
 * never see each other's answers (docs/behaviour.md#cache). Throws a GatewayError.
 */
export function cacheKey(
  { caller, strict, fallback, settingsDigest }: Handling,
  modality: string,
  request: unknown,
): string {
  const { accountId, mode } = caller
  const handling = `${strict ? 'strict' : ''} ${fallback ? 'fallback' : ''}`
  return hash(
    'sha256',
    `${settingsDigest}\n${accountId}\n${mode}\n${handling}\n${modality}\n${canonicalText(request)}`,
    'base64url',
  )
}

/** A request as JSON, independent of the order of its members. Throws a GatewayError. */
export function canonicalText(request: unknown): string {
  try {
    return stringify(request) ?? ''
  } catch (cause) {
    // The stack overflows on values nested thousands of levels deep.
    throw new GatewayError('invalid_value', 'The request is nested too deeply.', { cause })
  }
}
