import type { Kysely } from 'kysely'
import { GatewayError } from '../../core/error.ts'
import { keyRemedy } from '../../core/words/remedies.ts'
import { listed } from '../../storage/sql-dialect.ts'
import type { Tables } from '../../storage/tables.ts'
import { accessKinds, artifactDigest } from './artifact-row.ts'

/** The prefix of access tokens, which distinguishes them from API keys. */
export const accessTokenPrefix = 'mag_oauth_'
const shape = new RegExp(`^${accessTokenPrefix}[A-Za-z0-9_-]{20,200}$`)

/** The audience and the scope that an access token must have. */
export type TokenPurpose = {
  /** The address of the server that the token must be issued for. */
  audience: string
  /** The scope that lets a client call models. */
  scope: string
}

/** The required purpose, and the current time in Unix milliseconds. */
export type TokenReading = TokenPurpose & { now: number }

/**
 * Reads an access token: `keyId` is the key that the token acts for, and `mayInfer` whether the client may call
 * models. Throws `invalid_token`, also for a token of another audience.
 */
export async function readAccessToken(
  db: Kysely<Tables>,
  token: string,
  { audience, scope: needed, now }: TokenReading,
) {
  if (!shape.test(token)) throw invalidToken('The access token is mistyped or incomplete.')
  const digests = accessKinds.map((kind) => artifactDigest(kind, token))
  const row = await db
    .selectFrom('oauth_artifacts')
    .select(['grant_id', 'payload', 'expires_at'])
    .where('digest', 'in', listed(db, digests))
    .executeTakeFirst()
  if (row === undefined || row.grant_id === null) {
    throw invalidToken('There is no such access token: it has expired, or was revoked.')
  }
  const { grant_id: keyId, expires_at: expiresAt } = row
  if (expiresAt <= now) throw expiredToken()
  // `artifactRow` writes this column as an object.
  const { aud, scope } = JSON.parse(row.payload) as { aud?: unknown; scope?: unknown }
  if (![aud].flat().includes(audience))
    throw invalidToken(`The access token was not issued for ${audience}.`)
  const mayInfer = typeof scope === 'string' && scope.split(' ').includes(needed)
  return { keyId, expiresAt, mayInfer }
}

/** The error for an expired access token. */
export function expiredToken(): GatewayError {
  return invalidToken('The access token has expired.')
}

/** The error for the token of an ended connection. */
export function connectionOver(): GatewayError {
  return invalidToken('The connection of this access token has ended.')
}

const remedy = `Get a new one from POST /oauth/token with the refresh token or the client secret, or connect the client again. ${keyRemedy}`

function invalidToken(message: string): GatewayError {
  return new GatewayError('invalid_token', `${message} ${remedy}`)
}
