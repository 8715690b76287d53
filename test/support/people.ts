import { digestOf } from '../../src/accounts/api-key.ts'
import type { People } from '../../src/assemble/people.ts'
import type { Role } from '../../src/core/caller.ts'
import type { Store } from '../../src/storage/store.ts'
import { callerOf } from './callers.ts'

/** A signed-in person, with session token and request headers. */
export type SignedInPerson = {
  personId: string
  sessionId: string
  email: string
  token: string
  /** Headers of a request from a page of the gateway. */
  headers: { cookie: string; 'x-csrf-token': string }
}
type Options = { accountId?: string; role?: Role; email?: string }

/** Creates people in the store of a gateway under test, without password hashing and HTTP. */
export type TestPeople = ReturnType<typeof createTestPeople>

export function createTestPeople(store: Store, parts: People, firstAccountId: string) {
  let made = 0
  const begin = async (personId: string, email: string): Promise<SignedInPerson> => {
    const from = { address: '127.0.0.1', userAgent: 'a browser' }
    const { token, csrfToken, session } = await store.db
      .transaction()
      .execute((transaction) => parts.sessions.begin(transaction, personId, from))
    const headers = { cookie: `gateway_session=${token}`, 'x-csrf-token': csrfToken }
    return { personId, sessionId: session.id, email, token, headers }
  }
  return {
    /** Creates a signed-in person, by default an owner of the first account. */
    signIn: async (options: Options = {}): Promise<SignedInPerson> => {
      const { accountId = firstAccountId, role = 'owner' } = options
      const { email = `person-${++made}@example.com` } = options
      const id = `usr_${digestOf(email).replaceAll(/[_-]/g, '0')}`
      // The hash matches no password, since these people need none.
      const row = { id, email, name: 'Somebody', password_hash: noHash, created_at: made }
      await store.db.insertInto('people').values(row).execute()
      const member = { account_id: accountId, person_id: id, role, joined_at: made }
      await store.db.insertInto('members').values(member).execute()
      return begin(id, email)
    },
    /** Makes a person a member of a further account. */
    join: async (personId: string, accountId: string, role: Role): Promise<void> => {
      const row = { account_id: accountId, person_id: personId, role, joined_at: ++made }
      await store.db.insertInto('members').values(row).execute()
    },
    /** Creates a further session of a person. */
    signInAgain: ({ personId, email }: SignedInPerson) => begin(personId, email),
    /** Creates an invitation to an account, as an operator does. */
    invite: (email: string, accountId = firstAccountId, role: Role = 'member') =>
      parts.invitations.create(
        { ...operator, accountId },
        { email, role },
        { actor: { id: operator.keyId, address: null }, modelIds: (names) => [...names] },
      ),
    /** Creates a password link as on the command line. */
    passwordLink: (email: string) => parts.passwordLinks.createByEmail(email),
    setUpLink: () => parts.setUpLinks.create(),
  }
}

const operator = callerOf({ accountId: 'acc_operator', isOperator: true })

const noHash = '$argon2id$v=19$m=1024,t=3,p=4$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA'
