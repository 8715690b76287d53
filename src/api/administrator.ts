import type { IncomingMessage } from 'node:http'
import type { Administrator, Caller } from '../core/caller.ts'
import type { ClientAddress } from '../http/client-address.ts'
import { actorOf } from '../http/operation.ts'

type Call = { caller: Caller; request: IncomingMessage; addressOf: ClientAddress }

/** The caller as the actor of an administrative change, with their permissions. */
export function administratorOf(call: Call): Administrator {
  const { accountId, scopes, isOperator } = call.caller
  return { ...actorOf(call), accountId, scopes, isOperator }
}
