import { GatewayError } from '../core/error.ts'
import type { Operation } from '../http/operation.ts'

/** POST /v1/images/edits */
export function createImageEdit(): Operation<'createImageEdit'> {
  return async () => {
    throw new GatewayError(
      'not_implemented',
      'This version of the gateway does not edit images yet. Use /v1/images/generations.',
    )
  }
}
