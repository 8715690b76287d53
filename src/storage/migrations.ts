import { sql, type Kysely } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import { addAllowances } from './migrations/allowances.ts'
import { createAuditEvents } from './migrations/audit-events.ts'
import { addClientHosts } from './migrations/client-hosts.ts'
import { createBudgets } from './migrations/budgets.ts'
import { createGatewaySecrets } from './migrations/gateway-secrets.ts'
import { createKeyClients } from './migrations/key-clients.ts'
import { addKeyCreators } from './migrations/key-creators.ts'
import { addKeyRotation } from './migrations/key-rotation.ts'
import { addReservationCalls } from './migrations/reservation-calls.ts'
import { addReservationProcesses } from './migrations/reservation-processes.ts'
import { addUsageSavings, createUsageHours } from './migrations/usage-hours.ts'
import { createOauth } from './migrations/oauth.ts'
import { createPasswordLinks } from './migrations/password-links.ts'
import { createPeople } from './migrations/people.ts'
import { createRefusals } from './migrations/refusals.ts'
import { addSessionKeys } from './migrations/session-keys.ts'
import { addUsagePricing } from './migrations/usage-pricing.ts'
import { createIdempotentAnswers } from './migrations/idempotent-answers.ts'
import type { SqlDialect } from './sql-dialect.ts'
import { StoreError } from './store-error.ts'

/** 'MAGW' as SQLite keeps it in the file's header. */
export const applicationId = 0x4d414757

export const updateRemedy = 'Update the gateway.'

/** They run forward only, by name, and use types that SQLite and PostgreSQL share. */
const migrationsFor = (dialect: SqlDialect): Record<string, Migration> => ({
  '0001_accounts_keys_usage': { up: createAccountsKeysUsage },
  /** Keeps rows in the order in which reports read them; a commit changes half as many pages. */
  '0002_usage_by_account_and_time': {
    up: async (db) => {
      await db.schema.alterTable('usage').renameTo('usage_by_id').execute()
      await db.schema.dropIndex('usage_account_at').execute()
      const table = createUsage(db).addPrimaryKeyConstraint('usage_key', ['account_id', 'at', 'id'])
      // PostgreSQL has no tables that are stored in the order of their key.
      await (dialect === 'sqlite' ? table.modifyEnd(sql`without rowid`) : table).execute()
      await sql`insert into usage select * from usage_by_id`.execute(db)
      await db.schema.dropTable('usage_by_id').execute()
    },
  },
  /** Counts of further classes of tokens that have a price of their own. */
  '0003_usage_token_classes': {
    up: async (db) => {
      for (const column of ['cache_write_tokens', 'image_input_tokens', 'image_output_tokens']) {
        await db.schema
          .alterTable('usage')
          .addColumn(column, 'bigint', (added) => added.notNull().defaultTo(0))
          .execute()
      }
    },
  },
  /** The row whose writing shows that rows can be written; the file says whose it is. */
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
  /** What a request's page shows beside its cost. */
  '0019_usage_details': {
    up: async (db) => {
      for (const column of ['asked_model', 'warnings']) {
        await db.schema.alterTable('usage').addColumn(column, 'text').execute()
      }
      await addUsageSavings(db, dialect)
    },
  },
  '0020_key_clients': { up: createKeyClients },
  '0021_password_links': { up: createPasswordLinks },
  '0022_refusals': { up: createRefusals },
  '0023_reservation_calls': { up: (db) => addReservationCalls(db, dialect) },
})

async function createAccountsKeysUsage(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('accounts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull().unique())
    .addColumn('hint', 'text', (column) => column.notNull())
    .addColumn('allowed_models', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .execute()
  await createUsage(db).addPrimaryKeyConstraint('usage_id', ['id']).execute()
  await db.schema
    .createIndex('usage_account_at')
    .on('usage')
    .columns(['account_id', 'at'])
    .execute()
}

/** The table of migrations 0001 and 0002; later changes need a migration of their own. */
function createUsage(db: Kysely<unknown>) {
  return db.schema
    .createTable('usage')
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('face', 'text', (column) => column.notNull())
    .addColumn('modality', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('provider', 'text')
    .addColumn('upstream_model', 'text')
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('error_code', 'text')
    .addColumn('cache', 'text', (column) => column.notNull())
    .addColumn('input_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cached_input_tokens', 'bigint', (column) => column.notNull())
    .addColumn('output_tokens', 'bigint', (column) => column.notNull())
    .addColumn('reasoning_tokens', 'bigint', (column) => column.notNull())
    .addColumn('images', 'bigint', (column) => column.notNull())
    .addColumn('cost_nano_usd', 'bigint')
    .addColumn('cost_status', 'text', (column) => column.notNull())
    .addColumn('attempts', 'text', (column) => column.notNull())
    .addColumn('duration_ms', 'bigint', (column) => column.notNull())
}

/** Kysely's own migrator of the store. */
export function migratorFor<T>(db: Kysely<T>, dialect: SqlDialect): Migrator {
  const migrations = migrationsFor(dialect)
  return new Migrator({ db, provider: { getMigrations: async () => migrations } })
}

/**
 * Migrates the store to the newest schema, or to the one that is named, one process at a time. Throws a
 * StoreError if a newer version of the gateway has written it.
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

/** The StoreError for a store that a newer version has written; else the same error. */
export function toMigrationError(error: unknown): unknown {
  const isNewer = error instanceof Error && error.message.startsWith('corrupted migrations')
  return isNewer ? newer('The store', error) : error
}

/** What opening a store may do: a start migrates it, a command that writes may make the first one. */
export type SchemaChange = 'migrate' | 'create' | 'none'

/** No gateway has started with this store yet. */
export class NoStore extends StoreError {}

/** Throws a StoreError unless the migrations `ran` are those of this version, or may be run. */
export function assertSchema(
  ran: readonly string[],
  { change, place }: { change: SchemaChange; place: string },
): void {
  if (change === 'migrate') return
  assertNotNewer(ran, 'The store')
  if (ran.length === 0 && change === 'create') return
  if (ran.length === 0)
    throw new NoStore(
      `There is no store in ${place} yet: the first start or \`keys create\` creates it.`,
    )
  const lacking = Object.keys(migrationsFor('sqlite')).length - ran.length
  if (lacking === 0) return
  const what = `The store in ${place} was written by an older version of the gateway`
  const remedy = 'Run `npm run -s gateway -- migrate`, or start this version, which does the same.'
  throw new StoreError(
    `${what} and lacks ${lacking} migration${lacking === 1 ? '' : 's'}. ${remedy}`,
  )
}

/** The name of the newest migration that this version knows. */
export function newestSchema(): string {
  return Object.keys(migrationsFor('sqlite')).toSorted().at(-1)!
}

/** Throws a StoreError that begins with `what` unless this version knows all migrations that ran. */
export function assertNotNewer(ran: Iterable<string>, what: string): void {
  const known = migrationsFor('sqlite')
  if ([...ran].some((name) => !Object.hasOwn(known, name))) throw newer(what)
}

/** The refusal of what a newer version wrote; it begins with `what`. */
export function newer(what: string, cause?: Error): StoreError {
  const message = `${what} was written by a newer version of the gateway. ${updateRemedy}`
  return new StoreError(message, undefined, { cause })
}
