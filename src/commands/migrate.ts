import { loadConfig } from '../settings/config.ts'
import { migrateFolder } from '../storage/copies/migrate.ts'
import type { MigrationRun } from '../storage/migrations.ts'
import { json, jsonText, parsed, type Command, type CommandContext } from './command.ts'
import { counted } from './copies.ts'

/** The migrations that ran, and the number of ledger rows; undefined if no store exists. */
type Ran = { runs: readonly MigrationRun[]; calls: number | undefined }

/** migrate: runs the migrations that the store lacks; with --dry-run on a copy. */
export const migrate: Command = async (words, context) => {
  const { values } = parsed(words, { 'dry-run': { type: 'boolean' }, ...json })
  const dryRun = values['dry-run'] === true
  const { runs, calls } = await run(dryRun, context)
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

async function run(dryRun: boolean, { readVariables, notice }: CommandContext): Promise<Ran> {
  const { config, secrets } = loadConfig(readVariables())
  const { databaseUrl: url } = secrets
  if (url === undefined) {
    const { runs, before } = await migrateFolder(config.dataDir, dryRun)
    return { runs, calls: before?.calls }
  }
  // The PostgreSQL driver is loaded only if it is used.
  const { migrateDatabase } = await import('../storage/postgres-store.ts')
  return migrateDatabase({ url, limits: config.limits, notice, keeps: !dryRun })
}
