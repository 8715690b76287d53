import type { Cassettes } from '../accounts/cassettes.ts'
import type { Caller } from '../core/caller.ts'
import type { Operations } from '../http/contract-router.ts'
import { actorOf } from '../http/operation.ts'
import { ok } from './answers.ts'

/** Dependencies of the operations on cassettes. */
export type CassetteParts = { cassettes: Cassettes }

/** The handlers of an account's cassettes. */
export function cassetteOperations({ cassettes }: CassetteParts) {
  return {
    listCassettes: async ({ caller: { accountId }, query }) =>
      ok(await cassettes.list(accountId, query)),
    exportCassette: async (call) => ok(await cassettes.export(cassetteIn(call))),
    importCassette: async (call) =>
      ok(await cassettes.import(actorOf(call), cassetteIn(call), call.body)),
    deleteCassette: async (call) => {
      await cassettes.remove(actorOf(call), cassetteIn(call))
      return { status: 204 }
    },
  } satisfies Partial<Operations>
}

function cassetteIn({ caller: { accountId }, path: { name } }: Call) {
  return { accountId, name }
}

type Call = { caller: Caller; path: { name: string } }
