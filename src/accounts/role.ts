import { scopesByRole } from '../../generated/operations.ts'
import type { Caller, Role, Scope } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'

/** What a person of this role may do in the account. */
export function scopesOf(role: Role): readonly Scope[] {
  return scopesByRole[role]
}

const administrative: ReadonlySet<Scope> = new Set(['admin', 'keys:write'])

/** Whether keys with these scopes administer an account. */
export function administers(scopes: readonly Scope[]): boolean {
  return scopes.some((scope) => administrative.has(scope))
}

/** Of the scopes of a key, those that stay when the person who made it has this role, or none. */
export function scopesLeft(scopes: readonly Scope[], role: Role | undefined): Scope[] {
  const may = role === undefined ? [] : scopesOf(role)
  return scopes.filter((scope) => !administrative.has(scope) || may.includes(scope))
}

/** Throws `insufficient_scope` for who may not make, change and remove people of these roles. */
export function assertMayChange(caller: Caller, ...roles: readonly Role[]): void {
  if (!mayChange(caller, ...roles)) throw onlyOwners()
}

/** Only owners, and those who run the gateway for the accounts of others, make, change and remove owners. */
export function mayChange(caller: Caller, ...roles: readonly Role[]): boolean {
  return !roles.includes('owner') || isOwner(caller)
}

/** The error for who may not. */
export function onlyOwners(): GatewayError {
  const text = 'Only an owner of the account makes, changes or removes owners. Ask one of them.'
  return new GatewayError('insufficient_scope', text)
}

function isOwner({ person, isOperator, accountId, allowances }: Caller): boolean {
  if (person !== undefined) return person.role === 'owner'
  // A key of the operators in the account of others.
  return isOperator && allowances[0].ownerId !== accountId
}
