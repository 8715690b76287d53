import type { Operation } from '../http/operation.ts'
import type { ListKeys } from './list-keys.ts'

/** GET /api/me/connections */
export function listConnections({ list }: { list: ListKeys }): Operation<'listConnections'> {
  return async ({ caller, query: { state, ...page } }) => {
    const filter = { kind: 'connection', createdBy: caller.person.id, state } as const
    return { status: 200, json: await list(filter, page) }
  }
}
