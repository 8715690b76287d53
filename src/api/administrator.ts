import type { Administrator } from '../core/caller.ts'
import { actorOf } from '../http/operation.ts'

/** Who administers with a request, and what they may do. */
export function administratorOf(call: Parameters<typeof actorOf>[0]): Administrator {
  const { accountId, scopes, isOperator } = call.caller
  return { ...actorOf(call), accountId, scopes, isOperator }
}
