import type { Role, Scope } from '../../src/core/caller.ts'

/**
 * `everybody` needs no credentials; `signed in` a session, in any role; `any key` an API key, of any
 * scope; `operators` are administrators of the first account; otherwise the scope that a key needs, or
 * the role of a person has.
 */
export type Who = 'everybody' | 'signed in' | 'any key' | 'operators' | Scope

/**
 * Who may use each operation below `/api`, typed in by hand: read from the contract it would prove
 * nothing about it. `security` and `x-operators-only` in openapi.yaml must say the same.
 */
export const whoMay: Readonly<Record<string, Who>> = {
  listAccounts: 'admin',
  createAccount: 'operators',
  retrieveAccount: 'admin',
  updateAccount: 'admin',
  listAuditEvents: 'admin',
  retrieveCache: 'admin',
  retrieveOwnKey: 'any key',
  listKeys: 'keys:write',
  createKey: 'keys:write',
  retrieveKey: 'keys:write',
  updateKey: 'keys:write',
  revokeKey: 'keys:write',
  rotateKey: 'keys:write',
  listClients: 'usage:read',
  listAttempts: 'usage:read',
  listUnknownAttempts: 'operators',
  retrieveEntrance: 'everybody',
  setUp: 'everybody',
  createSession: 'everybody',
  listSessions: 'signed in',
  deleteOtherSessions: 'signed in',
  retrieveCurrentSession: 'signed in',
  deleteCurrentSession: 'signed in',
  deleteSession: 'signed in',
  createSessionKey: 'signed in',
  retrieveMe: 'signed in',
  updateMe: 'signed in',
  changePassword: 'signed in',
  listConnections: 'signed in',
  endConnection: 'signed in',
  leaveAccount: 'signed in',
  listMembers: 'admin',
  inviteMember: 'admin',
  updateMember: 'admin',
  removeMember: 'admin',
  createPasswordLink: 'admin',
  resetPassword: 'everybody',
  listInvitations: 'admin',
  withdrawInvitation: 'admin',
  describeInvitation: 'everybody',
  acceptInvitation: 'everybody',
  signUp: 'everybody',
  reportUsage: 'usage:read',
  exportUsage: 'usage:read',
  exportRequests: 'usage:read',
  listRequests: 'usage:read',
  listRequestErrors: 'usage:read',
  listRefusals: 'usage:read',
  retrieveRequest: 'usage:read',
  listCatalog: 'usage:read',
  listProviders: 'operators',
  reloadSettings: 'operators',
}

/** What people of a role may do, by hand too. */
export const scopesByHand: Readonly<Record<Role, readonly Scope[]>> = {
  member: ['inference', 'usage:read'],
  admin: ['inference', 'usage:read', 'keys:write', 'admin'],
  owner: ['inference', 'usage:read', 'keys:write', 'admin'],
}
