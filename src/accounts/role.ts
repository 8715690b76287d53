import { scopesByRole } from '../../generated/operations.ts'
import type { Caller, Role, Scope } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'

/** The scopes of a role. */
export function scopesOf(role: Role): readonly Scope[] {
  return scopesByRole[role]
}

const administrative: ReadonlySet<Scope> = new Set(['admin', 'keys:write'])

/** Whether keys with these scopes administer an account. */
export function administers(scopes: readonly Scope[]): boolean {
  return scopes.some((scope) => administrative.has(scope))
}

/** The scopes that a key keeps when its creator has this role; undefined for a removed member. */
export function remainingScopes(scopes: readonly Scope[], role: Role | undefined): Scope[] {
  const may = role === undefined ? [] : scopesOf(role)
  return scopes.filter((scope) => !administrative.has(scope) || may.includes(scope))
}

/** Throws `insufficient_scope` if the caller may not add, change and remove members of these roles. */
export function assertMayChange(caller: Caller, ...roles: readonly Role[]): void {
  if (!mayChange(caller, ...roles)) throw onlyOwners()
}

/** Only owners, and operators in accounts of others, may add, change and remove owners. */
export function mayChange(caller: Caller, ...roles: readonly Role[]): boolean {
  return !roles.includes('owner') || isOwner(caller)
}

/** The error for a caller who may not change owners. */
export function onlyOwners(): GatewayError {
  const text = 'Only an owner of the account may add, change or remove owners. Ask an owner.'
  return new GatewayError('insufficient_scope', text)
}

function isOwner({ person, isOperator, accountId, allowances }: Caller): boolean {
  if (person !== undefined) return person.role === 'owner'
  // An operator's key that acts for another account.
  return isOperator && allowances[0].ownerId !== accountId
}
