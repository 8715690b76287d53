/** The commands beside the server: `npm run -s gateway -- <command>`. */
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { createAccounts, type Accounts } from './accounts/accounts.ts'
import { configuredCatalog, readCatalogRows } from './catalog/catalog.ts'
import { keyModelIds, KeyModelError } from './catalog/new-key-models.ts'
import { ConfigError, loadConfig, readVariables, settingsTable } from './config.ts'
import { nearName } from './core/near-name.ts'
import { diagnose, diagnosisText } from './doctor.ts'
import { namePrefixes as prefixes } from './providers/index.ts'
import { StoreError } from './storage/store-error.ts'
import { openStore } from './storage/store.ts'

const usage = `Usage: npm run -s gateway -- <command>

  keys create --mode test|live --name <name> [--models a,b] [--expires-in-days <days>]
                         create a key; it is printed alone, this once
  keys list              the keys, without their secrets
  keys revoke <id>       end a key
  doctor [--json]        what is configured, what is reachable, what is missing
  settings               every setting, as a table
`

/** Its message is printed without a stack trace. */
class UsageError extends Error {
  override name = 'UsageError'
}

async function main(words: string[]): Promise<void> {
  const [command, verb] = words
  if (command === 'settings') return print(settingsTable())
  if (command === 'doctor') return doctor(words.slice(1))
  if (command === 'keys' && verb === 'create')
    return withAccounts((a) => createKey(a, words.slice(2)))
  if (command === 'keys' && verb === 'list') {
    parsed(words.slice(2), {})
    return withAccounts(listKeys)
  }
  if (command === 'keys' && verb === 'revoke') return withAccounts((a) => revokeKey(a, words[2]))
  if (command === undefined || command === 'help' || command === '--help') return print(usage)
  throw new UsageError(`There is no command '${words.join(' ')}'.\n\n${usage}`)
}

async function withAccounts(run: (accounts: Accounts) => Promise<void>): Promise<void> {
  const store = await openStore(loadConfig(readVariables()).config)
  for (const notice of store.notices) process.stderr.write(`${notice}\n`)
  try {
    await run(createAccounts(store, Date.now))
  } finally {
    await store.close()
  }
}

async function createKey(accounts: Accounts, words: string[]): Promise<void> {
  const { mode, name, models, 'expires-in-days': days } = parsed(words, keyOptions)
  if (mode !== 'test' && mode !== 'live') throw new UsageError('Say --mode test or --mode live.')
  const label = keyName(name)
  const lifetimeDays = days === undefined ? undefined : daysOf(days)
  const ids = models === undefined ? undefined : modelIds(models)
  const { id: accountId } = await accounts.first()
  const key = await accounts.createKey({
    accountId,
    mode,
    name: label,
    ...(ids === undefined ? {} : { models: ids }),
    ...(lifetimeDays === undefined ? {} : { expiresAt: Date.now() + lifetimeDays * 86_400_000 }),
  })
  print(`${key}\n`)
}

function modelIds(list: string): string[] {
  const { config } = loadConfig(readVariables())
  const rows = readCatalogRows()
  const catalog = configuredCatalog({ ...config, rows, prefixes, clock: Date.now })
  return keyModelIds(list, { catalog, endpoints: config.endpoints, prefixes })
}

const nameLengthMax = 100
/** A hundred years. */
const daysMax = 36_500

/** A name in one line: `keys list` prints it, and a terminal does what some characters say. */
function keyName(given = ''): string {
  const name = given.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim()
  if (name === '') throw new UsageError('Say --name and a name.')
  if (name.length <= nameLengthMax) return name
  throw new UsageError(`--name takes at most ${nameLengthMax} characters.`)
}

function daysOf(given: string): number {
  const days = /^\d{1,6}(\.\d{1,30})?$/.test(given) ? Number(given) : 0
  if (days > 0 && days <= daysMax) return days
  throw new UsageError(`--expires-in-days takes a number above 0, at most ${daysMax}.`)
}

const text = { type: 'string' } as const
const keyOptions = { mode: text, name: text, models: text, 'expires-in-days': text }

function parsed<Options extends ParseArgsOptionsConfig>(words: string[], options: Options) {
  try {
    return parseArgs({ args: words, options }).values
  } catch (error) {
    const message = error instanceof Error ? error.message.slice(0, 300) : String(error)
    const [, unknown = ''] = /^Unknown option '--?([^']+)'/.exec(message) ?? []
    const near = nearName(unknown, Object.keys(options))
    throw new UsageError(near === undefined ? message : `${message} Did you mean '--${near}'?`)
  }
}

async function listKeys(accounts: Accounts): Promise<void> {
  const rows = await accounts.listKeys()
  if (rows.length === 0) return print('There are no keys. `keys create` makes one.\n')
  const date = (at: number) => new Date(at).toISOString().slice(0, 16).replace('T', ' ')
  for (const row of rows) {
    const state =
      row.revoked_at !== null
        ? `revoked ${date(row.revoked_at)}`
        : row.expires_at !== null && row.expires_at <= Date.now()
          ? `expired ${date(row.expires_at)}`
          : 'active'
    print(`${row.id}  ${row.hint}  ${row.mode}  ${date(row.created_at)}  ${state}  ${row.name}\n`)
  }
}

async function revokeKey(accounts: Accounts, id: string | undefined): Promise<void> {
  if (id === undefined) throw new UsageError('Say which key: `keys list` shows their ids.')
  if (!(await accounts.revokeKey(id))) throw new UsageError(`There is no active key '${id}'.`)
  print(`Revoked ${id}.\n`)
}

async function doctor(words: string[]): Promise<void> {
  const { json = false } = parsed(words, { json: { type: 'boolean' } })
  const { config, secrets, doubts } = loadConfig(readVariables())
  const diagnosis = await diagnose({ config, secrets, doubts })
  print(json ? `${JSON.stringify({ ...diagnosis, config }, null, 2)}\n` : diagnosisText(diagnosis))
  if (!diagnosis.healthy) process.exitCode = 1
}

function print(text: string): void {
  process.stdout.write(text)
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  const wrongWords =
    error instanceof UsageError || error instanceof ConfigError || error instanceof KeyModelError
  const known = wrongWords || error instanceof StoreError
  const text = known ? error.message : error instanceof Error ? error.stack : String(error)
  process.stderr.write(`${text}\n`)
  process.exitCode = wrongWords ? 2 : 1
})
