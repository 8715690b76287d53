import type { Role, Scope } from '../../src/core/caller.ts'

/**
 * The access that an operation requires: `everybody` needs no credentials, `signed in` a session of any role,
 * `any key` an API key of any scope, `operators` an administrator of the first account; otherwise the scope
 * that a key or the role of a person must have.
 */
export type RequiredAccess = 'everybody' | 'signed in' | 'any key' | 'operators' | Scope

/**
 * The required access of each operation below `/api`. Written by hand, to test `security` and
 * `x-operators-only` in openapi.yaml.
 */
export const requiredAccess: Readonly<Record<string, RequiredAccess>> = {
  listAccounts: 'admin',
  createAccount: 'operators',
  retrieveAccount: 'admin',
  updateAccount: 'admin',
  listAuditEvents: 'admin',
  exportAuditEvents: 'admin',
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
  listCassettes: 'admin',
  exportCassette: 'admin',
  importCassette: 'admin',
  deleteCassette: 'admin',
  listWebhooks: 'admin',
  createWebhook: 'admin',
  retrieveWebhook: 'admin',
  updateWebhook: 'admin',
  deleteWebhook: 'admin',
  rotateWebhookSecret: 'admin',
  testWebhook: 'admin',
  listWebhookDeliveries: 'admin',
  redeliverWebhook: 'admin',
  signUp: 'everybody',
  reportUsage: 'usage:read',
  reportLatency: 'usage:read',
  exportUsage: 'usage:read',
  exportRequests: 'usage:read',
  listRequests: 'usage:read',
  listRequestErrors: 'usage:read',
  listRefusals: 'usage:read',
  retrieveRequest: 'usage:read',
  listCatalog: 'usage:read',
  listProviders: 'operators',
  reloadSettings: 'operators',
  retrieveStoredSettings: 'operators',
  replaceStoredSettings: 'operators',
  createProviderKey: 'operators',
  deleteProviderKey: 'operators',
  testProviderKey: 'operators',
}

/** The expected scopes of each role, written by hand. */
export const expectedScopes: Readonly<Record<Role, readonly Scope[]>> = {
  member: ['inference', 'usage:read'],
  admin: ['inference', 'usage:read', 'keys:write', 'admin'],
  owner: ['inference', 'usage:read', 'keys:write', 'admin'],
}
