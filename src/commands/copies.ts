import { backUp, restore as restoreFile } from '../storage/copies/backup.ts'
import { json, jsonText, parsed, type Command, type CommandContext, UsageError } from './command.ts'
import { exportStore } from '../storage/copies/export.ts'
import { withStore } from './with-store.ts'
import { loadConfig, type Config } from '../settings/config.ts'
import { usdText } from '../core/money/price.ts'
import { gatewayCommand } from '../core/words/remedies.ts'
import { importIntoDatabase, importIntoFolder, type Imported } from '../storage/copies/import.ts'
import { migrateFolder } from '../storage/copies/migrate.ts'
import type { MigrationRun } from '../storage/migrations.ts'
import type { Contents } from '../storage/copies/store-file.ts'
import { counted } from '../core/words/counted.ts'

/** backup: copies the store into one file while the gateway runs. */
export const backup: Command = async (words, context) => {
  const { values, positionals } = parsed(words, { force: { type: 'boolean' }, ...json }, 1)
  const file = fileIn(positionals, 'backup')
  const { dataDir } = embeddedConfig(
    context,
    (database) =>
      `The store is in PostgreSQL. Back it up with: pg_dump --format=custom --file='${file}' '${database}' (and restore it with pg_restore). For a copy that SQLite can import: ${gatewayCommand} export '${file}'`,
  )
  const made = await backUp({ dataDir, file, replaces: values.force === true })
  const { file: path, journaledRows: journaled, refusedRows: refused } = made
  if (values.json === true) {
    const rows = { journaled_rows: journaled, refused_rows: refused }
    return { text: jsonText({ file: path, ...contentsJson(made), ...rows }) }
  }
  const lines = [
    `Backed up to ${path}: ${contentsText(made)}.`,
    ...(journaled === 0 ? [] : [`${journaled} of the rows came from journals.`]),
    ...(refused === 0 ? [] : [`${refused} rows of journals are invalid and were left out.`]),
    'The backup was verified.',
  ]
  return { text: `${lines.join('\n')}\n` }
}

/** restore: replaces the store with a backup. */
export const restore: Command = async (words, context) => {
  const { values, positionals } = parsed(words, json, 1)
  const file = fileIn(positionals, 'restore')
  const { dataDir } = embeddedConfig(
    context,
    (database) =>
      `The store is in PostgreSQL. Restore a pg_dump with: pg_restore --clean --if-exists --dbname='${database}' '${file}'. Import an export with: ${gatewayCommand} import '${file}'`,
  )
  const restored = await restoreFile({ dataDir, file })
  const { file: path, replaced } = restored
  if (values.json === true) {
    return {
      text: jsonText({ file: path, data_dir: dataDir, ...contentsJson(restored), replaced }),
    }
  }
  const lines = [
    `Restored ${path} into ${dataDir}: ${contentsText(restored)}.`,
    ...(replaced === null ? [] : [`The previous store is in ${replaced}.`]),
    'Changes since the backup are lost: check keys, sessions and limits that were changed after it.',
  ]
  return { text: `${lines.join('\n')}\n` }
}

/** export: writes all rows of the store as lines of JSON, for import into SQLite or PostgreSQL. */
export const exportRows: Command = async (words, context) => {
  const { values, positionals } = parsed(words, { force: { type: 'boolean' }, ...json }, 1)
  const file = fileIn(positionals, 'export')
  return withStore('none', context, async ({ store, config: { dataDir } }) => {
    const made = await exportStore({ store, dataDir, file, replaces: values.force === true })
    const { head, rows, journaledRows: journaled } = made
    if (values.json === true) {
      const { schema, rows: tables } = head
      const result = { file: made.file, schema, rows, tables, journaled_rows: journaled }
      return { text: jsonText(result) }
    }
    const lines = [
      `Exported ${counted(rows, 'row')} to ${made.file}, schema ${head.schema}. The export was verified.`,
      tablesText(head.rows),
      ...(journaled === 0
        ? []
        : [
            `${counted(journaled, 'row')} of journals may be missing. Start the gateway, then export again.`,
          ]),
    ]
    return { text: `${lines.join('\n')}\n` }
  })
}

function tablesText(rows: Readonly<Record<string, number>>): string {
  const tables = Object.entries(rows).filter(([, count]) => count > 0)
  return tables.map(([table, count]) => `  ${table}  ${count}`).join('\n')
}

/** import: fills an empty store from an export. */
export const importRows: Command = async (words, context) => {
  const { values, positionals } = parsed(words, json, 1)
  const file = fileIn(positionals, 'import')
  const { head, rows, costNanoUsd, replaced, ...imported } = await imports(file, context)
  const usd = usdText(BigInt(costNanoUsd))
  if (values.json === true) {
    const { schema, rows: tables } = head
    const result = { file: imported.file, schema, rows, tables, cost: { usd }, replaced }
    return { text: jsonText(result) }
  }
  const lines = [
    `Imported ${counted(rows, 'row')} from ${imported.file}. The calls cost $${usd}, in the export and in the store.`,
    tablesText(head.rows),
    ...(replaced === null ? [] : [`The previous, empty store is in ${replaced}.`]),
  ]
  return { text: `${lines.join('\n')}\n` }
}

async function imports(file: string, context: CommandContext): Promise<Imported> {
  const { config, secrets } = loadConfig(context.readVariables())
  const { dataDir } = config
  if (secrets.databaseUrl === undefined) return importIntoFolder({ dataDir, file })
  return withStore('create', context, ({ store }) => importIntoDatabase({ store, file }))
}

function contentsText({ accounts, keys, calls, newestCallAt, ...rest }: Contents): string {
  const newest = newestCallAt === null ? '' : `, the newest of ${dateText(newestCallAt)}`
  const cost = `$${usdText(BigInt(rest.costNanoUsd))}`
  const of = [`${rest.bytes} bytes`, counted(accounts, 'account'), counted(keys, 'key')]
  return `${of.join(', ')}, ${counted(calls, 'call')} for ${cost}${newest}; schema ${rest.schema}`
}

function contentsJson({ newestCallAt, costNanoUsd, ...rest }: Contents): object {
  return {
    bytes: rest.bytes,
    schema: rest.schema,
    accounts: rest.accounts,
    keys: rest.keys,
    calls: rest.calls,
    newest_call_at: newestCallAt === null ? null : dateText(newestCallAt),
    cost: { usd: usdText(BigInt(costNanoUsd)) },
  }
}

function dateText(at: number): string {
  return new Date(at).toISOString()
}

/**
 * The settings of a gateway with an embedded store. With DATABASE_URL it throws a UsageError with the
 * text of `instead`, the equivalent command for PostgreSQL.
 */
function embeddedConfig(
  { readVariables }: CommandContext,
  instead: (database: string) => string,
): Config {
  const { config, secrets } = loadConfig(readVariables())
  const { databaseUrl } = secrets
  if (databaseUrl === undefined) return config
  throw new UsageError(instead(withoutPassword(databaseUrl)))
}

function withoutPassword(address: string): string {
  const url = new URL(address)
  url.password = ''
  const secret = url.searchParams.keys().filter((name) => /password/i.test(name))
  for (const name of secret.toArray()) url.searchParams.delete(name)
  return url.href
}

/** The file argument of a command. Throws a UsageError if it is missing. */
export function fileIn([file]: readonly string[], command: string): string {
  if (file !== undefined && file !== '') return file
  throw new UsageError(`The file is missing. Usage: ${gatewayCommand} ${command} <file>`)
}

/** The migrations that ran, and the number of ledger rows; undefined if no store exists. */
type Ran = { runs: readonly MigrationRun[]; calls: number | undefined }

/** migrate: runs the migrations that the store lacks; with --dry-run on a copy. */
export const migrate: Command = async (words, context) => {
  const { values } = parsed(words, { 'dry-run': { type: 'boolean' }, ...json })
  const dryRun = values['dry-run'] === true
  const { runs, calls } = await runMigrations(dryRun, context)
  if (values.json === true) {
    const migrations = runs.map(({ name, durationMs }) => ({ name, duration_ms: durationMs }))
    return { text: jsonText({ dry_run: dryRun, migrations, calls: calls ?? 0 }) }
  }
  if (calls === undefined) return { text: 'No store exists. Start the gateway to create it.\n' }
  if (runs.length === 0) return { text: 'The store is up to date.\n' }
  const lines = [
    `${dryRun ? 'Tried' : 'Ran'} ${counted(runs.length, 'migration')} on ${counted(calls, 'call')}:`,
    ...runs.map(({ name, durationMs }) => `  ${name}  ${durationMs} ms`),
    dryRun
      ? 'Dry run: all migrations succeeded. The store was not changed.'
      : 'The store is up to date.',
  ]
  return { text: `${lines.join('\n')}\n` }
}

async function runMigrations(
  dryRun: boolean,
  { readVariables, notice }: CommandContext,
): Promise<Ran> {
  const { config, secrets } = loadConfig(readVariables())
  const { databaseUrl: url } = secrets
  if (url === undefined) {
    return migrateFolder(config.dataDir, dryRun)
  }
  // The PostgreSQL driver is loaded only if it is used.
  const { migrateDatabase } = await import('../storage/postgres-store.ts')
  return migrateDatabase({ url, limits: config.limits, notice, keeps: !dryRun })
}
