import {
  createArtifactStore,
  type ArtifactLimits,
} from '../../src/accounts/oauth/artifact-store.ts'
import { createConnections } from '../../src/accounts/oauth/connections.ts'
import { createMembers } from '../../src/accounts/members.ts'
import type { Announcement } from '../../src/peers/announcement.ts'
import type { Store } from '../../src/storage/store.ts'
import { accountRow, callerOf } from './callers.ts'
import { makeFolder } from './folder.ts'
import { accountsOf } from './keys.ts'
import { openTestStore } from './store.ts'

const oauthLimits: ArtifactLimits & { oauthConnectionsPerAccountMax: number } = {
  oauthClientsMax: 100,
  oauthSignInsMax: 100,
  oauthTokensPerConnectionMax: 1000,
  oauthRefreshGraceSeconds: 120,
  oauthConnectionsPerAccountMax: 100,
}

/** The gateway's OAuth code with its stored data, and a clock that the test sets. */
export function oauthOf(store: Store, changed: Partial<typeof oauthLimits> = {}) {
  const time = { now: 1_000_000 }
  const clock = () => time.now
  const limits = { ...oauthLimits, ...changed }
  const announced: Announcement[] = []
  const announce = (one: Announcement) => void announced.push(one)
  const accounts = accountsOf(store, clock)
  const parts = { store, audit: accounts.audit, announce, clock, limits }
  return {
    ...accounts,
    time,
    announced,
    announce,
    artifacts: createArtifactStore(parts),
    connections: createConnections(parts),
    members: createMembers(parts),
    callerOfAdmin: (account: string) => callerOf({ accountId: account, scopes: ['admin'] }),
  }
}

/** A store with an account and a member, opened twice, as by two processes. */
export type OAuthStores = {
  store: Store
  other: Store
  /** Removes all data that a test has stored. */
  empty(): Promise<void>
  close(): Promise<void>
}

export async function openOAuthStores(): Promise<OAuthStores> {
  const { path, remove } = makeFolder()
  const [store, other] = await Promise.all([openTestStore(path), openTestStore(path)])
  await storeMember(store)
  return {
    store,
    other,
    empty: async () => {
      for (const table of kept) await store.db.deleteFrom(table).execute()
    },
    close: async () => {
      await Promise.all([store.close(), other.close()])
      remove()
    },
  }
}

const kept = [
  'oauth_artifacts',
  'oauth_clients',
  'audit_events',
  'api_keys',
  'write_checks',
] as const

export const accountId = 'acc_1'
export const personId = 'usr_1'

/** Inserts an account with one member. */
async function storeMember({ db }: Pick<Store, 'db'>): Promise<void> {
  await db.insertInto('accounts').values(accountRow(accountId)).execute()
  const person = { id: personId, email: 'a@b.c', name: 'A', password_hash: '', created_at: 0 }
  await db.insertInto('people').values(person).execute()
  const member = {
    account_id: accountId,
    person_id: personId,
    role: 'member',
    joined_at: 0,
  } as const
  await db.insertInto('members').values(member).execute()
}

/** A person's consent. */
export const consent = {
  by: { personId },
  address: '203.0.113.7',
  accountId,
  client: { id: 'client_1', name: 'Some client' },
}
