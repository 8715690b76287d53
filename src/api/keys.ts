import type { ConnectionLists } from '../accounts/connection-lists.ts'
import type { Keys } from '../accounts/keys.ts'
import type { Operations } from '../http/contract-router.ts'
import { administratorOf } from './administrator.ts'
import { createdSecret, ok } from './answers.ts'

/** Dependencies of the operations on keys. */
export type KeyParts = { keys: Keys; connections: ConnectionLists }

/** The handlers of an account's keys, and of a person's connections and connected clients. */
export function keyOperations({ keys, connections }: KeyParts) {
  return {
    listKeys: async ({ caller: { accountId }, query }) => {
      const { state, kind, mode, name, created_by: createdBy, ...page } = query
      const filter = { accountId, state, kind, mode, name, createdBy }
      return { status: 200, json: await keys.list(filter, page) }
    },
    createKey: async (call) => {
      const { accountId } = call.caller
      return createdSecret(await keys.create(administratorOf(call), accountId, call.body))
    },
    retrieveKey: async (call) => ok(await keys.retrieve(keyIn(call))),
    updateKey: async (call) => ok(await keys.update(administratorOf(call), keyIn(call), call.body)),
    rotateKey: async (call) => {
      const { overlap_minutes: overlapMinutes } = call.body
      return createdSecret(await keys.rotate(administratorOf(call), keyIn(call), overlapMinutes))
    },
    revokeKey: async (call) => ok(await keys.revoke(administratorOf(call), keyIn(call))),
    listConnections: async ({ caller, query: { state, ...page } }) => {
      const filter = { kind: 'connection', createdBy: caller.person.id, state } as const
      return ok(await keys.list(filter, page))
    },
    endConnection: async (call) => {
      const which = { id: call.path.id, connectionOf: call.caller.person.id }
      await keys.revoke(administratorOf(call), which)
      return { status: 204 }
    },
    listClients: async ({ caller, query }) => ok(await connections.clients(caller, query)),
    listAttempts: async ({ caller, query }) => ok(await connections.attempts(caller, query)),
    listUnknownAttempts: async ({ query }) => ok(await connections.unknown(query)),
  } satisfies Partial<Operations>
}

/** Identifies the key that the path names within the account of the caller. */
function keyIn({ path, caller }: { path: { id: string }; caller: { accountId: string } }) {
  return { id: path.id, accountId: caller.accountId }
}
