import { scopesByRole } from '../../generated/operations.ts'
import type { Caller, Role, Scope } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'

/** What a person of this role may do in the account. */
export function scopesOf(role: Role): readonly Scope[] {
  return scopesByRole[role]
}

/**
 * Only owners, and those who run the gateway for the accounts of others, make, change and remove
 * owners. Throws `insufficient_scope`.
 */
export function assertMayChange(caller: Caller, ...roles: readonly Role[]): void {
  if (!roles.includes('owner') || isOwner(caller)) return
  const text = 'Only an owner of the account makes, changes or removes owners. Ask one of them.'
  throw new GatewayError('insufficient_scope', text)
}

function isOwner({ person, isOperator, accountId, allowances }: Caller): boolean {
  if (person !== undefined) return person.role === 'owner'
  // A key of the operators in the account of others.
  return isOperator && allowances[0].ownerId !== accountId
}
