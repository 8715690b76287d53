import { loadConfig } from '../settings/config.ts'
import { migrateFolder } from '../storage/copies/migrate.ts'
import type { MigrationRun } from '../storage/stepwise.ts'
import { json, jsonText, parsed, type Command, type CommandContext } from './command.ts'
import { counted } from './copies.ts'

/** What ran, and the rows of the ledger; undefined where there is no store yet. */
type Ran = { runs: readonly MigrationRun[]; calls: number | undefined }

/** migrate: runs the migrations that the store lacks; with --dry-run nothing stays of them. */
export const migrate: Command = async (words, context) => {
  const { values } = parsed(words, { 'dry-run': { type: 'boolean' }, ...json })
  const dryRun = values['dry-run'] === true
  const { runs, calls } = await run(dryRun, context)
  if (values.json === true) {
    const migrations = runs.map(({ name, durationMs }) => ({ name, duration_ms: durationMs }))
    return { text: jsonText({ dry_run: dryRun, migrations, calls: calls ?? 0 }) }
  }
  if (calls === undefined) return { text: 'There is no store yet; the first start makes it.\n' }
  if (runs.length === 0) return { text: 'The store has all migrations.\n' }
  const lines = [
    `${dryRun ? 'Tried' : 'Ran'} ${counted(runs.length, 'migration')} on ${counted(calls, 'call')}:`,
    ...runs.map(({ name, durationMs }) => `  ${name}  ${durationMs} ms`),
    dryRun ? 'All went well. Nothing was changed.' : 'The store is up to date.',
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
  // Who does not use it does not load it.
  const { migrateDatabase } = await import('../storage/postgres-store.ts')
  return migrateDatabase({ url, limits: config.limits, notice, keeps: !dryRun })
}
