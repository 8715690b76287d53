import type { components } from '../../generated/types.ts'
import type { Administrator } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'
import { notStored } from './not-stored.ts'

/** Replaces a key of an account; the old one ends after the overlap. */
export type RotateKey = (
  by: Administrator,
  which: { id: string; accountId: string },
  overlapMinutes: number,
) => Promise<components['schemas']['CreatedApiKey']>

/** POST /api/keys/{id}/rotate */
export function rotateKey({ rotate }: { rotate: RotateKey }): Operation<'rotateKey'> {
  return async (call) => {
    const which = { id: call.path.id, accountId: call.caller.accountId }
    const json = await rotate(administratorOf(call), which, call.body.overlap_minutes)
    return { status: 201, headers: notStored, json }
  }
}
