import { createHmac, randomBytes } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { Encrypted, Encryption } from '../../storage/encryption.ts'
import type { Tables, WebhooksTable } from '../../storage/tables.ts'

/** The length that Standard Webhooks recommends, of at least 24. */
const secretBytes = 32
const prefix = 'whsec_'

type Row = Pick<WebhooksTable, 'id' | 'account_id' | 'previous_secret_until'> & Encrypted

/** A new secret in the form of Standard Webhooks. */
export function newSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64')
}

/** Encrypts the secrets of a webhook, the newest first. */
export function sealedSecrets(
  encryption: Encryption,
  secrets: readonly string[],
  row: Pick<Row, 'id' | 'account_id'>,
): Encrypted {
  return encryption.encrypt(secrets.join(' '), contextOf(row))
}

/** The secrets that sign now, the newest first; empty if they cannot be decrypted. */
export function secretsOf(encryption: Encryption, row: Row, now: number): string[] {
  const secrets = encryption.decrypt(row, contextOf(row))?.split(' ') ?? []
  return secrets.slice(0, now < (row.previous_secret_until ?? 0) ? 2 : 1)
}

/** The headers that sign a body (https://www.standardwebhooks.com, "Signature scheme"). */
export function signedHeaders(
  secrets: readonly string[],
  { id, body, now }: { id: string; body: string; now: number },
): Record<string, string> {
  const seconds = String(Math.floor(now / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': signatures.join(' '),
  }
}

/** Encrypts all secrets with the newest encryption key; those that cannot be decrypted are left. */
export async function encryptSecretsAgain(
  transaction: Transaction<Tables>,
  encryption: Encryption,
): Promise<void> {
  for (const row of await transaction.selectFrom('webhooks').selectAll().execute()) {
    const secrets = encryption.decrypt(row, contextOf(row))
    if (secrets === undefined) continue
    const sealed = sealedSecrets(encryption, [secrets], row)
    await transaction.updateTable('webhooks').set(sealed).where('id', '=', row.id).execute()
  }
}

/** Binds a ciphertext to its row. */
function contextOf({ id, account_id: accountId }: Pick<Row, 'id' | 'account_id'>): string {
  return `${accountId} ${id}`
}
