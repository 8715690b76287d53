import { createHmac, randomBytes } from 'node:crypto'
import type { Transaction } from 'kysely'
import { timingSafeEqualText } from '../bytes/timing-safe-equal.ts'
import { GatewayError } from '../core/error.ts'
import { insertNew } from '../storage/insert-new.ts'
import type { Tables } from '../storage/tables.ts'

const lifetimeMs = 300_000
/** Used challenges are kept longer than they are valid, since the clocks of replicas differ. */
const keptMs = 3_600_000
const timeLength = 12
const idLength = timeLength + 32

/**
 * Challenges that any replica can check: their expiry and random digits, authenticated with a key of the store. Nothing
 * is stored before one is used, so that requests without a session cannot fill the store.
 */
export function createPasskeyChallenges(key: Buffer, clock: () => number) {
  const complete = (id: string, purpose: string): string =>
    id + createHmac('sha256', key).update(`${id} ${purpose}`).digest('base64url')
  return {
    /** The options of the browser's call with a new challenge for one purpose. */
    optionsFor: (purpose: string, options: object) => {
      const expiresAt = clock() + lifetimeMs
      const time = expiresAt.toString(16).padStart(timeLength, '0')
      const challenge = complete(time + randomBytes(16).toString('hex'), purpose)
      return {
        object: 'passkey_options' as const,
        expires_at: new Date(expiresAt).toISOString(),
        public_key: { ...options, challenge, timeout: lifetimeMs },
      }
    },
    /** The id of a challenge for this purpose. Throws `invalid_credentials`. */
    idOf: (challenge: string, purpose: string): string => {
      const id = challenge.slice(0, idLength)
      if (!timingSafeEqualText(challenge, complete(id, purpose)))
        throw refused('The passkey answered another challenge. Try again.')
      if (parseInt(id.slice(0, timeLength), 16) > clock()) return id
      throw refused('This took too long. Try again.')
    },
    /** Uses a challenge up; of concurrent calls one succeeds. Throws `invalid_credentials`. */
    use: async (transaction: Transaction<Tables>, id: string): Promise<void> => {
      const now = clock()
      const old = transaction.deleteFrom('passkey_challenges')
      await old.where('used_at', '<=', now - keptMs).execute()
      if (!(await insertNew(transaction, 'passkey_challenges', { id, used_at: now })))
        throw refused('This answer of the passkey has been used already. Try again.')
    },
  }
}

/** The error for an answer of a passkey that is refused. */
export function refused(text: string): GatewayError {
  return new GatewayError('invalid_credentials', text)
}
