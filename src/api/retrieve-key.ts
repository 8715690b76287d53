import type { components } from '../../generated/types.ts'
import type { Operation } from '../http/operation.ts'

/** Describes a key of an account. */
export type RetrieveKey = (which: {
  id: string
  accountId: string
}) => Promise<components['schemas']['ApiKey']>

/** GET /api/keys/{id} */
export function retrieveKey({ retrieve }: { retrieve: RetrieveKey }): Operation<'retrieveKey'> {
  return async ({ caller, path }) => {
    const json = await retrieve({ id: path.id, accountId: caller.accountId })
    return { status: 200, json }
  }
}
