import { sql, type Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import { gatewayCommand } from '../core/words/remedies.ts'
import { alertTables, kindOfWebhook } from './migrations/alerts.ts'
import {
  accountTables,
  keptPrompts,
  memberLimits,
  playedStates,
  refusingBudget,
  tagBudgets,
} from './migrations/account-tables.ts'
import { leasingBudgets } from './migrations/budget-leases.ts'
import { countingBudgets, countingPeople, takingBackAnew } from './migrations/budgets.ts'
import { callTables, tagsOfCall } from './migrations/call-tables.ts'
import { cassetteOfKey, cassetteTables } from './migrations/cassettes.ts'
import { columnSql, creating, type Table } from './migrations/columns.ts'
import { identityTables, passkeyTables } from './migrations/identity-tables.ts'
import { jobTables, ownersOfResponses } from './migrations/job-tables.ts'
import { pictureTables } from './migrations/picture-files.ts'
import { archiveTables } from './migrations/usage-archives.ts'
import { appendingDeltas, takenBack } from './migrations/usage-deltas.ts'
import { addingHours } from './migrations/usage-hours.ts'
import { createSums } from './migrations/usage-sums.ts'
import { webhookTables } from './migrations/webhook-tables.ts'
import { timeDiffersFromId } from './request-place.ts'
import type { SqlDialect } from './sql-dialect.ts'
import { StoreError } from './store-error.ts'
import type { Notice } from './store.ts'
import { counted } from '../core/words/counted.ts'

/** 'MAGW' in ASCII, stored in the header of the SQLite file (PRAGMA application_id). */
export const applicationId = 0x4d414757

type Change = (db: Kysely<unknown>, dialect: SqlDialect) => Promise<void>

/** The first migration. Stores from before version 0.1 ran others, whose names sort before this one. */
const firstSchema = '0029_version_0_1'

/**
 * The migrations, which only run forward, by name. The number is the schema. A name that ends with `_from_0035` says that
 * gateways of schema 35 and later can go on using the store (docs/storage.md#migrations).
 */
export const migrations: Record<string, Change> = {
  [firstSchema]: createTables,
  '0030_image_jobs': async (db, dialect) => {
    await creatingAll(jobTables)(db, dialect)
    for (const statement of ownersOfResponses(dialect)) await sql.raw(statement).execute(db)
  },
  '0031_picture_files': creatingAll(pictureTables),
  '0032_webhooks': creatingAll(webhookTables),
  '0033_kept_prompts': executing((to) => addingTo('accounts', keptPrompts, to)),
  '0034_cassettes': async (db, dialect) => {
    await creatingAll(cassetteTables)(db, dialect)
    const column = columnSql(dialect, 'cassette', cassetteOfKey.cassette)
    await sql.raw(`alter table api_keys add column ${column}`).execute(db)
  },
  '0035_played_states': executing((to) => addingTo('api_keys', playedStates, to)),
  '0036_calls_of_unknown_cost_from_0035': executing(takingBackAnew),
  // SQLite, which has one writer, keeps its triggers: to append and to add later costs it more.
  '0037_usage_deltas_from_0035': executing((dialect) =>
    dialect === 'sqlite' ? [] : appendingDeltas,
  ),
  '0038_usage_archives_from_0035': creatingAll(archiveTables),
  '0039_person_identities_from_0035': creatingAll(identityTables),
  '0040_alerts_from_0035': async (db, dialect) => {
    await creatingAll(alertTables)(db, dialect)
    const column = columnSql(dialect, 'kind', kindOfWebhook.kind)
    await sql.raw(`alter table webhooks add column ${column}`).execute(db)
  },
  '0041_usage_sums_from_0035': createSums,
  '0042_tags_from_0035': async (db, dialect) => {
    const column = columnSql(dialect, 'tags', tagsOfCall.tags)
    await sql.raw(`alter table usage add column ${column}`).execute(db)
    const index = 'create index usage_tagged on usage (account_id, at, id) where tags is not null'
    await sql.raw(index).execute(db)
  },
  '0043_limits_of_people_from_0035': executing((dialect) => [
    ...addingTo('members', memberLimits, dialect),
    ...addingTo('invitations', memberLimits, dialect),
    ...addingTo('api_keys', tagBudgets, dialect),
    ...addingTo('reservations', tagsOfCall, dialect),
    ...countingPeople(dialect, takenBack),
  ]),
  '0044_passkeys_from_0035': creatingAll(passkeyTables),
  '0045_budget_leases_from_0035': executing(leasingBudgets),
  '0046_refusing_budgets_from_0035': executing((to) => addingTo('refusals', refusingBudget, to)),
}

function addingTo(table: string, columns: Table['columns'], dialect: SqlDialect): string[] {
  return Object.entries(columns).map(
    ([name, column]) => `alter table ${table} add column ${columnSql(dialect, name, column)}`,
  )
}

function creatingAll(tables: Readonly<Record<string, Table>>): Change {
  return executing((dialect) =>
    Object.entries(tables).flatMap(([name, table]) => creating(dialect, name, table)),
  )
}

function executing(statements: (dialect: SqlDialect) => readonly string[]): Change {
  return async (db, dialect) => {
    for (const statement of statements(dialect)) await sql.raw(statement).execute(db)
  }
}

async function createTables(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  const statements = [
    ...Object.entries({ ...accountTables, ...callTables }).flatMap(([name, table]) =>
      creating(dialect, name, table),
    ),
    // At most one unrevoked session key per person, account and mode.
    `create unique index api_keys_session on api_keys (created_by, account_id, mode)
     where kind = 'session' and revoked_at is null`,
    // Failed calls are rare and often searched for; neither index contains successful calls.
    `create index usage_error_codes on usage (account_id, error_code, at, id)
     where error_code is not null`,
    `create index usage_outcomes on usage (account_id, outcome, at, id) where outcome <> 'ok'`,
    `create index usage_out_of_place on usage (id) where ${timeDiffersFromId(dialect)}`,
    ...addingHours(dialect),
    ...countingBudgets(dialect),
    ...(dialect === 'sqlite' ? [`pragma application_id = ${applicationId}`] : []),
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}

function migratorFor<T>(db: Kysely<T>, dialect: SqlDialect): Migrator {
  const each = Object.entries(migrations).map(([name, change]) => {
    return [name, { up: (within: Kysely<unknown>) => change(within, dialect) }]
  })
  return new Migrator({ db, provider: { getMigrations: async () => Object.fromEntries(each) } })
}

/**
 * Migrates the store to the newest schema, or to `schema`; one process at a time. A newer store that this version
 * can use is left as it is. Throws a StoreError if another version of the gateway wrote the store.
 */
export async function migrate<T>(
  db: Kysely<T>,
  dialect: SqlDialect,
  schema = newestSchema(),
): Promise<void> {
  const { error } = await migratorFor(db, dialect).migrateTo(schema)
  if (error !== undefined) await assertNewerIsUsable(db, error)
}

/** A migration that ran, and its duration. */
export type MigrationRun = { name: string; durationMs: number }

type StepOptions<Database> = {
  db: Kysely<Database>
  dialect: SqlDialect
  /** Whether to commit the transaction; else it is rolled back. */
  keeps: boolean
}

/**
 * Runs the migrations that a store lacks in one transaction: all of them, or none. A newer store that this version
 * can use lacks none. Throws a StoreError if another version of the gateway wrote the store.
 */
export async function migrateStepwise<Database>({
  db,
  dialect,
  keeps,
}: StepOptions<Database>): Promise<MigrationRun[]> {
  const runs: MigrationRun[] = []
  const work = db.transaction().execute(async (transaction) => {
    const migrator = migratorFor(transaction, dialect)
    for (;;) {
      const startedAt = performance.now()
      const { error, results } = await migrator.migrateUp()
      if (error !== undefined) await assertNewerIsUsable(transaction, error)
      const name = results?.[0]?.migrationName
      if (name === undefined) break
      runs.push({ name, durationMs: Math.round(performance.now() - startedAt) })
    }
    if (!keeps) throw new Undone()
  })
  await work.catch((error: unknown) => {
    if (!(error instanceof Undone)) throw error
  })
  return runs
}

/** Thrown to roll back a transaction that succeeded. */
class Undone extends Error {}

/** Throws Kysely's error, unless the store is newer and this version can use it. */
async function assertNewerIsUsable<T>(db: Kysely<T>, error: unknown): Promise<void> {
  const { message } = error as Error
  if (!/^corrupted migrations: previously executed migration \S+ is missing/.test(message))
    throw error
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
  assertUsable(
    rows.map(({ name }) => name),
    'The store',
  )
}

/** What opening a store may do: a start migrates it; a command that writes may create it. */
export type SchemaChange = 'migrate' | 'create' | 'none'

/** The store does not exist yet. */
export class NoStore extends StoreError {}

/**
 * Throws a StoreError if this version cannot use the store, or if migrations are missing and `change` does not allow
 * running them. `notice` learns that the store is newer.
 */
export function assertSchema(
  ran: readonly string[],
  { change, place, notice }: { change: SchemaChange; place: string; notice?: Notice },
): void {
  const newerStore = assertUsable(ran, 'The store')
  if (newerStore !== undefined) return notice?.(newerStore)
  const lacking = Object.keys(migrations).length - ran.length
  if (change === 'migrate' || lacking === 0 || (ran.length === 0 && change === 'create')) return
  if (ran.length === 0)
    throw new NoStore(
      `No store exists in ${place}. Start the gateway, or run \`keys create\`, to create it.`,
    )
  const what = `The store in ${place} was written by an older version of the gateway`
  const remedy = `Run \`${gatewayCommand} migrate\`, or start the gateway, which does the same.`
  throw new StoreError(`${what} and lacks ${counted(lacking, 'migration')}. ${remedy}`)
}

/** Whether a store lacks migrations of this version. Throws a StoreError if this version cannot use it. */
export function lacksMigrations(ran: readonly string[]): boolean {
  return assertUsable(ran, 'The store') === undefined && ran.length < Object.keys(migrations).length
}

/** The name of this version's newest migration. */
export function newestSchema(): string {
  return Object.keys(migrations).toSorted().at(-1)!
}

/**
 * The schema for the rows of an export. Throws a StoreError for an export of a newer version, whose columns would be
 * lost. Rows of stores from before version 0.1 have columns of its tables.
 */
export function schemaFor(exported: string): string {
  if (exported < firstSchema) return firstSchema
  if (!Object.hasOwn(migrations, exported)) throw otherVersion('The export', exported)
  return exported
}

/** The number in the name of a migration. */
const numberOf = (schema: string): number => Number.parseInt(schema, 10)

/** The oldest schema whose gateways can use a store that this migration has changed. */
export function compatibleFrom(schema: string): number {
  return numberOf(/_from_(\d{4})$/.exec(schema)?.[1] ?? schema)
}

/**
 * Checks the migrations that ran on a store. Returns a sentence for the operator if the store is newer and this version
 * can use it. Throws a StoreError that begins with `what` if it cannot.
 */
export function assertUsable(ran: Iterable<string>, what: string): string | undefined {
  const names = new Set(ran)
  const unknown = [...names.difference(new Set(Object.keys(migrations)))].toSorted()
  const last = unknown.at(-1)
  if (last === undefined) return undefined
  const own = newestSchema()
  const isLater =
    unknown[0]! > own && names.size - unknown.length === Object.keys(migrations).length
  if (isLater && compatibleFrom(last) <= numberOf(own))
    return `${what} is newer (${numberOf(last)}) than this version (${numberOf(own)}), and still works with it.`
  throw otherVersion(what, unknown[0]!, last)
}

/** Another version of the gateway wrote the store or export. */
export class OtherVersion extends StoreError {}

/**
 * The error for a migration that this version does not have; the message begins with `what`. `last` is the newest
 * migration of a store.
 */
function otherVersion(what: string, schema: string, last?: string): OtherVersion {
  if (schema >= firstSchema) return newer(what, last)
  return new OtherVersion(
    `${what} is from before version 0.1. Export it with the version that made it: ` +
      `\`${gatewayCommand} export rows.jsonl\`. Then import the file with this version into an ` +
      `empty DATA_DIR or database: \`${gatewayCommand} import rows.jsonl\`.`,
  )
}

/** The error for a store or export of a newer version; the message begins with `what`. */
export function newer(what: string, last?: string): OtherVersion {
  const text = `${what} was written by a newer version of the gateway. Update the gateway.`
  if (last === undefined) return new OtherVersion(text)
  const needed = `Its migration ${last} needs schema ${compatibleFrom(last)}; this version has ${numberOf(newestSchema())}.`
  return new OtherVersion(`${text} ${needed}`)
}
