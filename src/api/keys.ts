import type { components } from '../../generated/types.ts'
import type { Budgets } from '../accounts/budgets.ts'
import type { ConnectionLists } from '../accounts/connection-lists.ts'
import type { Keys } from '../accounts/keys.ts'
import type { Allowance, Caller } from '../core/caller.ts'
import { type LimitState, limitsForm } from '../core/limits.ts'
import type { Operations } from '../http/contract-router.ts'
import { administratorOf } from './administrator.ts'
import { createdSecret, ok } from './answers.ts'

type Schemas = components['schemas']

/** Dependencies of the operations on keys. */
export type KeyParts = {
  keys: Keys
  connections: ConnectionLists
  budgets: Pick<Budgets, 'statesFor'>
  lookAtLimits: (caller: Caller) => readonly LimitState[] | Promise<readonly LimitState[]>
}

/** The handlers of an account's keys, and of a person's connections and connected clients. */
export function keyOperations({ keys, connections, budgets, lookAtLimits }: KeyParts) {
  return {
    listKeys: async ({ caller, query }) => {
      const { accountId } = caller
      const { state, kind, mode, name, created_by: creator, ...page } = query
      const filter = { accountId, state, kind, mode, name, createdBy: onlyOf(caller) ?? creator }
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
    retrieveOwnKey: async ({ caller }) => {
      const { keyId, accountId, mode, scopes, models, allowances } = caller
      const [account, key, member] = allowances
      const { own, ofTags } = await budgets.statesFor(caller)
      const [ofAccount = null, ofKey = null, ofMember = null] = own
      const states = await lookAtLimits(caller)
      const json: Schemas['OwnKey'] = {
        id: keyId,
        object: 'api_key',
        account_id: accountId,
        mode,
        scopes: [...scopes],
        models: models === null ? null : [...models],
        ...stateOf(key, states, 'key'),
        budget: ofKey,
        tag_budgets: ofTags,
        account: { ...stateOf(account, states, 'account'), budget: ofAccount },
        member: member ? { ...stateOf(member, states, 'member'), budget: ofMember } : null,
      }
      return { status: 200, json }
    },
  } satisfies Partial<Operations>
}

/** Identifies the key that the path names among the keys that the caller manages. */
function keyIn({ path, caller }: { path: { id: string }; caller: Caller }) {
  return { id: path.id, accountId: caller.accountId, createdBy: onlyOf(caller) }
}

/** The person whose keys alone the caller manages; undefined for all keys of the account. */
function onlyOf({ person, scopes }: Caller): string | undefined {
  return scopes.includes('admin') ? undefined : person?.id
}

function stateOf({ limits }: Allowance, states: readonly LimitState[], whose: LimitState['owner']) {
  const own = states.filter(({ owner }) => owner === whose)
  return { limits: limitsForm(limits), rate_limits: own.map(stateText) }
}

function stateText({ kind, limit, remaining, window }: LimitState): Schemas['RateLimitState'] {
  return {
    kind,
    limit,
    remaining,
    window_seconds: window?.seconds ?? null,
    reset_seconds: window?.resetSeconds ?? null,
  }
}
