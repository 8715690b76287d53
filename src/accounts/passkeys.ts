import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, PersonCaller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { PageRequest } from '../core/page.ts'
import { product } from '../core/product.ts'
import { insertNew } from '../storage/insert-new.ts'
import type { Tables } from '../storage/tables.ts'
import { newId } from './id.ts'
import { timeText } from './key-form.ts'
import { listPage } from './list-page.ts'
import { refused, type createPasskeyChallenges } from './passkey-challenges.ts'
import type { People } from './people.ts'
import { beginSession, signInResult, type AnonymousClient, type SignInOptions } from './sign-in.ts'

type Schemas = components['schemas']
type Row = Tables['passkeys']

type Options = Omit<SignInOptions, 'people' | 'passwords'> & {
  people: Pick<People, 'retrieve' | 'assertPassword'>
  challenges: ReturnType<typeof createPasskeyChallenges>
}

/** Where passkeys work: the public origin of the gateway, and its host as RP ID. */
export type PasskeySite = { origin: string; rpId: string }

const perPersonMax = 10
/** EdDSA, ES256 and RS256: every authenticator has one of them. */
const algorithms = [-8, -7, -257]
const signInPurpose = 'sign-in'

export type Passkeys = ReturnType<typeof createPasskeys>

/**
 * The passkeys (WebAuthn) of people with a password: discoverable, with user verification, without attestation. While
 * passwords are closed, each method that makes or uses one throws `password_sign_in_closed`.
 */
export function createPasskeys(options: Options) {
  const { audit, people, challenges, assertPasswordsOpen } = options
  const { db } = options.store
  return {
    /** Whether a person has a passkey. */
    areUsed: async (): Promise<boolean> => {
      const first = db.selectFrom('passkeys').select('id').limit(1)
      return (await first.executeTakeFirst()) !== undefined
    },
    list: ({ person }: PersonCaller, page: PageRequest) =>
      listPage(passkeysOf(db, person.id), page, { time: 'created_at', toItem: toPasskey }),
    /** Checks the password, and returns what makes a passkey. Throws `invalid_credentials`, `invalid_value`. */
    start: async (caller: PersonCaller, password: string, { rpId }: PasskeySite) => {
      await assertPasswordsOpen()
      await people.assertPassword(caller.person.id, password)
      const { id, email, name } = await people.retrieve(caller.person.id)
      const own = await passkeysOf(db, id).execute()
      assertRoom(own)
      const type = 'public-key'
      return challenges.optionsFor(purposeOf(caller), {
        rp: { id: rpId, name: product.title },
        user: { id: Buffer.from(id).toString('base64url'), name: email, displayName: name },
        pubKeyCredParams: algorithms.map((alg) => ({ alg, type })),
        excludeCredentials: own.map((row) => ({ id: row.credential_id, type })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        attestation: 'none',
      })
    },
    /** Stores a passkey, in the session that started it. Throws `invalid_credentials`, `invalid_value`. */
    create: (caller: PersonCaller, given: Schemas['CreatePasskeyRequest'], place: Place) =>
      create(caller, given, { ...options, ...place }),
    /** Removes a passkey of the person. Throws `not_found`. */
    remove: ({ person, accountId: account_id }: PersonCaller, id: string, actor: Actor) =>
      db.transaction().execute(async (transaction) => {
        const own = transaction.deleteFrom('passkeys').where('person_id', '=', person.id)
        const removed = await own.where('id', '=', id).returning('name').executeTakeFirst()
        const text = 'You have no such passkey. GET /api/me/passkeys lists yours.'
        if (removed === undefined) throw new GatewayError('not_found', text, { param: 'id' })
        const act = { account_id, action: 'person.remove_passkey', target: person.id } as const
        await audit.write(transaction, actor, { ...act, before: { passkey: removed.name } })
      }),
    /** What asks the browser for a passkey. */
    startSession: async ({ rpId }: PasskeySite) => {
      await assertPasswordsOpen()
      return challenges.optionsFor(signInPurpose, { rpId, userVerification: 'required' })
    },
    /** Signs a person in. Throws `invalid_credentials`, `rate_limit_exceeded`. */
    signIn: (assertion: Schemas['PasskeyAssertion'], site: PasskeySite, from: AnonymousClient) =>
      signIn(assertion, from, { ...options, site }),
  }
}

type Place = { site: PasskeySite; actor: Actor }

async function create(
  caller: PersonCaller,
  { name, credential }: Schemas['CreatePasskeyRequest'],
  { store, audit, challenges, assertPasswordsOpen, clock, site, actor }: Options & Place,
): Promise<Schemas['Passkey']> {
  await assertPasswordsOpen()
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const { person, accountId: account_id } = caller
  const { clientDataJSON, attestationObject } = credential.response
  const response = { clientDataJSON, attestationObject }
  let challengeId = ''
  const { registrationInfo } = await verifyRegistrationResponse({
    response: { ...credential, response, clientExtensionResults: {} },
    expectedChallenge: (text) => (challengeId = challenges.idOf(text, purposeOf(caller))) !== '',
    ...expectedAt(site),
    supportedAlgorithmIDs: algorithms,
  }).catch(refuse)
  if (registrationInfo === undefined) return refuse()
  const { id: credential_id, publicKey: public_key, counter } = registrationInfo.credential
  const own = { id: newId('psk'), person_id: person.id, name: name.trim() }
  const times = { created_at: clock(), last_used_at: null }
  const row = { ...own, credential_id, public_key, counter, ...times }
  await store.db.transaction().execute(async (transaction) => {
    await challenges.use(transaction, challengeId)
    await insert(transaction, row)
    const act = { account_id, action: 'person.add_passkey', target: person.id } as const
    await audit.write(transaction, actor, { ...act, after: { passkey: row.name } })
  })
  return toPasskey(row)
}

/** The password was checked in this session, so another one cannot answer the challenge. */
function purposeOf({ person }: PersonCaller): string {
  return `passkey of ${person.id} in ${person.sessionId}`
}

function passkeysOf(db: Kysely<Tables>, personId: string) {
  return db.selectFrom('passkeys').selectAll().where('person_id', '=', personId)
}

async function insert(transaction: Transaction<Tables>, row: Row): Promise<void> {
  // Locks the person, so that concurrent requests do not exceed the maximum.
  const person = transaction.updateTable('people').set(({ ref }) => ({ name: ref('name') }))
  await person.where('id', '=', row.person_id).execute()
  assertRoom(await passkeysOf(transaction, row.person_id).execute())
  const isNew = await insertNew(transaction, 'passkeys', row)
  if (!isNew) throw refused('This passkey is registered already.')
}

function assertRoom(own: readonly Row[]): void {
  if (own.length < perPersonMax) return
  const text = `You have ${own.length} passkeys, the most that are possible. Remove one first.`
  throw new GatewayError('invalid_value', text)
}

type SignIn = Options & { site: PasskeySite }

async function signIn(
  assertion: Schemas['PasskeyAssertion'],
  from: AnonymousClient,
  options: SignIn,
) {
  const { store, people, attempts, onFailure } = options
  await options.assertPasswordsOpen()
  const succeeded = await attempts.begin({ origin: from.origin, email: assertion.id })
  const found = store.db.selectFrom('passkeys').selectAll()
  const row = await found.where('credential_id', '=', assertion.id).executeTakeFirst()
  try {
    if (row === undefined)
      throw refused('This gateway does not know the passkey. Sign in with your password.')
    const session = await enter(row, assertion, { ...options, from })
    succeeded()
    return await signInResult(people, row.person_id, session)
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_credentials')
      await onFailure({ personId: row?.person_id, address: from.address })
    throw error
  }
}

async function enter(
  row: Row,
  assertion: Schemas['PasskeyAssertion'],
  { from, ...options }: SignIn & { from: AnonymousClient },
) {
  const { store, challenges, clock, site } = options
  const { userHandle, ...response } = assertion.response
  // A browser that was asked for any passkey names the person (W3C WebAuthn section 7.2).
  if (Buffer.from(userHandle ?? '', 'base64url').toString() !== row.person_id) return refuse()
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  let challengeId = ''
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: { ...assertion, response, clientExtensionResults: {} },
    expectedChallenge: (text) => (challengeId = challenges.idOf(text, signInPurpose)) !== '',
    ...expectedAt(site),
    credential: {
      id: row.credential_id,
      publicKey: Uint8Array.from(row.public_key),
      counter: row.counter,
    },
  }).catch(refuse)
  if (!verified) return refuse()
  return store.db.transaction().execute(async (transaction) => {
    await challenges.use(transaction, challengeId)
    const { numUpdatedRows } = await transaction
      .updateTable('passkeys')
      .set({ counter: authenticationInfo.newCounter, last_used_at: clock() })
      .where('id', '=', row.id)
      // Otherwise it was used or removed in the meantime.
      .where('counter', '=', row.counter)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return refuse()
    const after = { passkey: row.name }
    return beginSession(transaction, row.person_id, { from, options, after })
  })
}

function expectedAt({ origin: expectedOrigin, rpId: expectedRPID }: PasskeySite) {
  return { expectedOrigin, expectedRPID, requireUserVerification: true }
}

/** The library throws an Error for each rule that an answer breaks; its text quotes the answer. */
function refuse(error?: unknown): never {
  if (error instanceof GatewayError) throw error
  throw refused('The passkey could not be verified. Try again.')
}

function toPasskey({ id, name, created_at, last_used_at }: Row): Schemas['Passkey'] {
  return {
    id,
    object: 'passkey',
    name,
    created_at: timeText(created_at),
    last_used_at: last_used_at === null ? null : timeText(last_used_at),
  }
}
