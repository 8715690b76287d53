/** The commands beside the server: `npm run -s gateway -- <command>`. */
import { backup, exportRows, importRows, restore } from './commands/copies.ts'
import { UsageError, type Command, type CommandContext, type Told } from './commands/command.ts'
import { createAccount, listAccounts } from './commands/accounts.ts'
import { createKey, listKeys, revokeKey, rotateKey, rotateOauthKeys } from './commands/keys.ts'
import { createPasswordLink, createSetUpLink } from './commands/links.ts'
import { doctor } from './commands/doctor.ts'
import { migrate } from './commands/migrate.ts'
import { reportUsage } from './commands/report-usage.ts'
import { ConfigError, readVariables, settingsTable } from './settings/config.ts'
import { GatewayError } from './core/error.ts'
import { NoStore } from './storage/migrations.ts'
import { StoreError } from './storage/store-error.ts'

const commandsHelp = `\
  accounts create --name <name> [limits]
                         create an account; its id is printed
  accounts list          the accounts
  keys create --mode test|live --name <name> [--account <id>] [--scopes a,b] [--models a,b]
              [--allow-ip <address or network>] [--expires-in-days <days>] [limits]
                         create a key; it is printed alone, this once
  keys create --kind client …
                         create a client that signs in with OAuth; its id and secret are printed
  keys list [--account <id>]
                         the keys, without their secrets
  keys rotate <id> [--overlap-minutes <minutes>]
                         replace a key; the new one is printed alone, this once
  keys revoke <id>       end a key
  usage [--by model,day] [--since 7d] [--until <date>] [--account <id>] [--member <id>]
        [--mode test]    what was used and what it cost
  setup-link             print a one-time link that makes an owner, or gives one a new password
  people password-link <e-mail>
                         print a one-time link with which a person sets a new password
  oauth rotate-keys      replace the keys with which OAuth signs
  backup <file> [--force]
                         copy the store into one file, also while the gateway runs
  restore <file>         put a backup into the place of the store, which is kept
  export <file> [--force]
                         write all rows of the store as lines of JSON
  import <file>          fill an empty store with them, of SQLite or PostgreSQL
  migrate [--dry-run]    run the migrations that the store lacks; try them on a copy
  doctor                 what is configured, what is reachable, what is missing
  doctor --connect <address> [--key <key>]
                         what would break Claude, ChatGPT, Cursor and others at that address
  settings               every setting, as a table
`

const usageOf = (help: string) => `\
Usage: npm run -s gateway -- <command>

${help}
Limits: --requests-per-minute, --tokens-per-minute, --images-per-minute, --concurrency, and
--budget-usd <dollars> with --budget-period day|month|total. All but settings take --json.
Each command takes --help.
`

/** The help of a command or of a group of commands; of all for no name. */
function helpFor(name: string): string {
  const entries = commandsHelp.split(/^(?= {2}\S)/m)
  return entries.filter((entry) => entry.startsWith(name && `  ${name} `)).join('')
}

const commands: Readonly<Record<string, Command>> = {
  backup,
  restore,
  export: exportRows,
  import: importRows,
  migrate,
  'accounts create': createAccount,
  'accounts list': listAccounts,
  'keys create': createKey,
  'keys list': listKeys,
  'keys revoke': revokeKey,
  'keys rotate': rotateKey,
  'setup-link': createSetUpLink,
  'people password-link': createPasswordLink,
  'oauth rotate-keys': rotateOauthKeys,
  doctor,
  usage: reportUsage,
  settings: () => Promise.resolve({ text: settingsTable() }),
}

/** Where a command prints, and what else it uses of its process. */
export type Streams = CommandContext & { print: (text: string) => void }

/**
 * Runs the command that the words name. Returns the exit code: 0, 1 for what was looked at and is not
 * as it should be or cannot be used, 2 for wrong words or settings.
 */
export async function runCommandLine(words: string[], streams: Streams): Promise<number> {
  try {
    const { text, failed = false } = await runNamed(words, streams)
    streams.print(text)
    return failed ? 1 : 0
  } catch (error) {
    const isTheirs =
      error instanceof UsageError ||
      error instanceof ConfigError ||
      error instanceof NoStore ||
      (error instanceof GatewayError && error.status < 500)
    const isTold = isTheirs || error instanceof StoreError
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
    streams.notice(isTold ? error.message : stack)
    return isTheirs ? 2 : 1
  }
}

async function runNamed(words: string[], context: CommandContext): Promise<Told> {
  const [first, second] = words
  if (first === undefined || first === 'help') return { text: usageOf(commandsHelp) }
  const length = [2, 1].find((count) => Object.hasOwn(commands, words.slice(0, count).join(' ')))
  const helpAt = words.findIndex((word) => word === '--help' || word === '-h')
  const name = words.slice(0, length ?? Math.max(helpAt, 0)).join(' ')
  const help = helpFor(name)
  if (helpAt >= 0 && help !== '') return { text: usageOf(help) }
  if (length === undefined) {
    const asked = second === undefined ? first : `${first} ${second}`
    const usage = usageOf(commandsHelp)
    throw new UsageError(`There is no command '${asked.slice(0, 100)}'.\n\n${usage}`)
  }
  return commands[name]!(words.slice(length), context)
}

if (import.meta.main) {
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    readVariables,
    print: (text) => void process.stdout.write(text),
    notice: (line) => void process.stderr.write(`${line}\n`),
  })
}
