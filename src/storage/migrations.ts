import { sql, type Kysely } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import { gatewayCommand } from '../core/words/remedies.ts'
import {
  addAllowances,
  addClientHosts,
  addKeyCreators,
  addKeyRotation,
  addSessionKeys,
} from './migrations/keys.ts'
import { createAuditEvents, createPasswordLinks, createPeople } from './migrations/people.ts'
import {
  createBudgets,
  addReservationCalls,
  addReservationProcesses,
  settleOnlyWithBudgets,
} from './migrations/budgets.ts'
import { createKeyClients, createRefusals } from './migrations/connections.ts'
import { createUsageHours } from './migrations/usage-hours.ts'
import { createOauth } from './migrations/oauth.ts'
import {
  addTokenClasses,
  addUsageDetails,
  addUsagePricing,
  createAccountsKeysUsage,
  sortUsage,
} from './migrations/usage.ts'
import { createIdempotentAnswers } from './migrations/idempotent-answers.ts'
import { createStoredResponses } from './migrations/stored-responses.ts'
import { bytesType, type SqlDialect } from './sql-dialect.ts'
import { StoreError } from './store-error.ts'

/** 'MAGW' in ASCII, stored in the header of the SQLite file (PRAGMA application_id). */
export const applicationId = 0x4d414757

export const updateRemedy = 'Update the gateway.'

/** The migrations, which only run forward, by name. Both databases have the column types that they use. */
const migrationsFor = (dialect: SqlDialect): Record<string, Migration> => ({
  '0001_accounts_keys_usage': { up: createAccountsKeysUsage },
  '0002_usage_by_account_and_time': { up: (db) => sortUsage(db, dialect) },
  '0003_usage_token_classes': { up: addTokenClasses },
  /** The row that write checks update; also marks the SQLite file as this gateway's. */
  '0004_write_checks': {
    up: async (db) => {
      await db.schema
        .createTable('write_checks')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('at', 'bigint', (column) => column.notNull())
        .execute()
      if (dialect === 'sqlite')
        await sql.raw(`PRAGMA application_id = ${applicationId}`).execute(db)
    },
  },
  '0005_allowances': { up: addAllowances },
  '0006_audit_events': { up: createAuditEvents },
  '0007_usage_pricing': { up: (db) => addUsagePricing(db, dialect) },
  '0008_usage_hours': { up: (db) => createUsageHours(db, dialect) },
  '0009_budgets': { up: (db) => createBudgets(db, dialect) },
  '0010_idempotent_answers': { up: (db) => createIdempotentAnswers(db, dialect) },
  '0011_people': { up: createPeople },
  '0012_key_rotation': { up: addKeyRotation },
  '0013_key_creators': { up: addKeyCreators },
  '0014_gateway_secrets': { up: (db) => createGatewaySecrets(db, dialect) },
  '0015_reservation_processes': { up: (db) => addReservationProcesses(db, dialect) },
  '0016_oauth': { up: createOauth },
  '0017_client_hosts': { up: addClientHosts },
  '0018_session_keys': { up: addSessionKeys },
  '0019_usage_details': { up: (db) => addUsageDetails(db, dialect) },
  '0020_key_clients': { up: createKeyClients },
  '0021_password_links': { up: createPasswordLinks },
  '0022_refusals': { up: createRefusals },
  '0023_reservation_calls': { up: (db) => addReservationCalls(db, dialect) },
  '0024_provider_keys': { up: (db) => createProviderKeys(db, dialect) },
  '0025_stored_settings': {
    up: (db) =>
      db.schema
        .createTable('stored_settings')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('yaml', 'text', (column) => column.notNull())
        .addColumn('updated_at', 'bigint', (column) => column.notNull())
        .addColumn('updated_by', 'text', (column) => column.notNull())
        .execute(),
  },
  '0026_stored_responses': { up: (db) => createStoredResponses(db, dialect) },
  '0027_settle_with_budgets': { up: (db) => settleOnlyWithBudgets(db, dialect) },
})

/** Secrets shared by the processes of one store. */
async function createGatewaySecrets(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  await db.schema
    .createTable('gateway_secrets')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('secret', bytesType(dialect), (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
}

/** Encrypted API keys of providers. */
async function createProviderKeys(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  await db.schema
    .createTable('provider_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('provider_id', 'text', (column) => column.notNull())
    .addColumn('encryption_key_id', 'text', (column) => column.notNull())
    .addColumn('ciphertext', bytesType(dialect), (column) => column.notNull())
    .addColumn('hint', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .execute()
}

/** Kysely's migrator for the store. */
export function migratorFor<T>(db: Kysely<T>, dialect: SqlDialect): Migrator {
  const migrations = migrationsFor(dialect)
  return new Migrator({ db, provider: { getMigrations: async () => migrations } })
}

/**
 * Migrates the store to the newest schema, or to `schema`; one process at a time. Throws a StoreError if
 * a newer version of the gateway wrote the store.
 */
export async function migrate<T>(
  db: Kysely<T>,
  dialect: SqlDialect,
  schema?: string,
): Promise<void> {
  const migrator = migratorFor(db, dialect)
  const { error } = await (schema === undefined
    ? migrator.migrateToLatest()
    : migrator.migrateTo(schema))
  if (error !== undefined) throw toMigrationError(error)
}

/** Converts Kysely's error for a store of a newer version to a StoreError; returns other errors unchanged. */
export function toMigrationError(error: unknown): unknown {
  const isNewer = error instanceof Error && error.message.startsWith('corrupted migrations')
  return isNewer ? newer('The store', error) : error
}

/** What opening a store may do: a start migrates it; a command that writes may create it. */
export type SchemaChange = 'migrate' | 'create' | 'none'

/** The store does not exist yet. */
export class NoStore extends StoreError {}

/** Throws a StoreError if migrations are missing and `change` does not allow running them. */
export function assertSchema(
  ran: readonly string[],
  { change, place }: { change: SchemaChange; place: string },
): void {
  if (change === 'migrate') return
  assertNotNewer(ran, 'The store')
  if (ran.length === 0 && change === 'create') return
  if (ran.length === 0)
    throw new NoStore(
      `No store exists in ${place}. Start the gateway, or run \`keys create\`, to create it.`,
    )
  const lacking = Object.keys(migrationsFor('sqlite')).length - ran.length
  if (lacking === 0) return
  const what = `The store in ${place} was written by an older version of the gateway`
  const remedy = `Run \`${gatewayCommand} migrate\`, or start the gateway, which does the same.`
  throw new StoreError(
    `${what} and lacks ${lacking} migration${lacking === 1 ? '' : 's'}. ${remedy}`,
  )
}

/** The name of this version's newest migration. */
export function newestSchema(): string {
  return Object.keys(migrationsFor('sqlite')).toSorted().at(-1)!
}

/** Throws a StoreError that begins with `what` if a migration ran that this version does not have. */
export function assertNotNewer(ran: Iterable<string>, what: string): void {
  const known = migrationsFor('sqlite')
  if ([...ran].some((name) => !Object.hasOwn(known, name))) throw newer(what)
}

/** The error for a store or export of a newer version; the message begins with `what`. */
export function newer(what: string, cause?: Error): StoreError {
  const message = `${what} was written by a newer version of the gateway. ${updateRemedy}`
  return new StoreError(message, undefined, { cause })
}
