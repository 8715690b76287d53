import type { components } from '../../generated/types.ts'
import type { Administrator } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'

type Schemas = components['schemas']

/** Creates an account. */
export type CreateAccount = (
  by: Administrator,
  asked: Schemas['NewAccount'],
) => Promise<Schemas['Account']>

/** POST /api/accounts */
export function createAccount({ create }: { create: CreateAccount }): Operation<'createAccount'> {
  return async (call) => ({ status: 201, json: await create(administratorOf(call), call.body) })
}
