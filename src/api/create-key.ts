import type { components } from '../../generated/types.ts'
import type { Administrator } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'
import { notStored } from './not-stored.ts'

type Schemas = components['schemas']

/** Creates a key of an account. */
export type CreateKey = (
  by: Administrator,
  accountId: string,
  asked: Schemas['NewApiKey'],
) => Promise<Schemas['CreatedApiKey']>

/** POST /api/keys */
export function createKey({ create }: { create: CreateKey }): Operation<'createKey'> {
  return async (call) => {
    const json = await create(administratorOf(call), call.caller.accountId, call.body)
    return { status: 201, headers: notStored, json }
  }
}
