/** The command line: `npm run -s gateway -- <command>`. */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { backup, exportRows, importRows, migrate, restore } from './commands/copies.ts'
import {
  UsageError,
  type Command,
  type CommandContext,
  type CommandResult,
} from './commands/command.ts'
import {
  createAccount,
  createPasswordLink,
  createSetUpLink,
  listAccounts,
} from './commands/accounts.ts'
import { createKey, listKeys, revokeKey, rotateKey, rotateOauthKeys } from './commands/keys.ts'
import { exportCassette, importCassette } from './commands/cassettes.ts'
import { doctor } from './commands/doctor.ts'
import {
  encryptProviderKeys,
  listProviders,
  removeProviderKey,
  setProviderKey,
} from './commands/providers.ts'
import { reportUsage } from './commands/report-usage.ts'
import { ConfigError, readVariables } from './settings/config.ts'
import { settingsTable } from './settings/settings-table.ts'
import { GatewayError } from './core/error.ts'
import { gatewayCommand } from './core/words/remedies.ts'
import { NoStore } from './storage/migrations.ts'
import { StoreError } from './storage/store-error.ts'

const commandsHelp = `\
  accounts create --name <name> [limits]
                         create an account and print its id
  accounts list          list the accounts
  keys create --mode test|live --name <name> [--account <id>] [--scopes a,b] [--models a,b]
              [--cassette <name>]
              [--allow-ip <address or network>] [--expires-in-days <days>] [limits]
                         create a key and print it; it is shown only once
  keys create --kind client …
                         create an OAuth client and print its id and secret
  keys list [--account <id>]
                         list the keys, without their secrets
  keys rotate <id> [--overlap-minutes <minutes>]
                         replace a key and print the new one; it is shown only once
  keys revoke <id>       revoke a key
  cassettes export <name> [--account <id>]
                         print a cassette, for a file of a repository
  cassettes import <name> <file> [--account <id>]
                         store such a file, in place of the cassette of this name
  providers list         list the keys of providers, without their secrets
  providers set-key <provider>
                         store a provider's key, read from standard input; it replaces the stored ones
  providers remove-key <provider> [<id>]
                         remove one stored key of a provider, or all
  providers encrypt-again
                         encrypt the stored keys with a new key, or with the first of ENCRYPTION_KEY
  usage [--by model,day] [--since 7d] [--until <date>] [--account <id>] [--member <id>]
        [--mode test]    print usage and cost
  setup-link             print a one-time link that creates an owner, or resets an owner's password
  people password-link <e-mail>
                         print a one-time link that sets a new password for a person
  oauth rotate-keys      replace the signing keys of OAuth
  backup <file> [--force]
                         copy the store into one file; the gateway may be running
  restore <file>         replace the store with a backup; the old store is kept
  export <file> [--force]
                         write all rows of the store as lines of JSON
  import <file>          fill an empty store, SQLite or PostgreSQL, from an export
  migrate [--dry-run]    run missing migrations; --dry-run tries them on a copy
  doctor                 report what is configured, reachable and missing
  doctor --connect <address> [--key <key>]
                         check that address for Claude, ChatGPT, Cursor and other clients
  settings               print all settings as a table
`

const usageOf = (help: string) => `\
Usage: ${gatewayCommand} <command>

${help}
Limits: --requests-per-minute, --tokens-per-minute, --images-per-minute, --concurrency, and
--budget-usd <dollars> with --budget-period day|month|total. All commands except settings accept --json.
Each command accepts --help.
`

/** The help of a command or a group of commands; of all commands if `name` is empty. */
function helpFor(name: string): string {
  const entries = commandsHelp.split(/^(?= {2}\S)/m)
  // A long name is followed by a line break.
  return entries
    .filter((entry) => entry.replace('\n', ' ').startsWith(name && `  ${name} `))
    .join('')
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
  'cassettes export': exportCassette,
  'cassettes import': importCassette,
  'setup-link': createSetUpLink,
  'people password-link': createPasswordLink,
  'oauth rotate-keys': rotateOauthKeys,
  'providers list': listProviders,
  'providers set-key': setProviderKey,
  'providers remove-key': removeProviderKey,
  'providers encrypt-again': encryptProviderKeys,
  doctor,
  usage: reportUsage,
  settings: () => Promise.resolve({ text: settingsTable() }),
}

/** Output of commands, and their access to the process. */
export type Streams = CommandContext & { print: (text: string) => void }

/**
 * Runs the command that the words name. Returns the exit code: 0 for success, 1 if the command failed or
 * found a problem, 2 for invalid arguments or settings.
 */
export async function runCommandLine(words: string[], streams: Streams): Promise<number> {
  try {
    const { text, failed = false } = await runNamed(words, streams)
    streams.print(text)
    return failed ? 1 : 0
  } catch (error) {
    const isUserError =
      error instanceof UsageError ||
      error instanceof ConfigError ||
      error instanceof NoStore ||
      (error instanceof GatewayError && error.status < 500)
    const isExpected = isUserError || error instanceof StoreError
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
    streams.notice(isExpected ? error.message : stack)
    return isUserError ? 2 : 1
  }
}

async function runNamed(words: string[], context: CommandContext): Promise<CommandResult> {
  const [first, second] = words
  if (first === undefined || first === 'help') return { text: usageOf(commandsHelp) }
  const length = [2, 1].find((count) => Object.hasOwn(commands, words.slice(0, count).join(' ')))
  const helpAt = words.findIndex((word) => word === '--help' || word === '-h')
  const name = words.slice(0, length ?? Math.max(helpAt, 0)).join(' ')
  const help = helpFor(name)
  if (helpAt >= 0 && help !== '') return { text: usageOf(help) }
  // The name of a group of commands alone, such as `keys`.
  if (length === undefined && second === undefined && helpFor(first) !== '')
    return { text: usageOf(helpFor(first)) }
  if (length === undefined) {
    const command = second === undefined ? first : `${first} ${second}`
    const usage = usageOf(commandsHelp)
    throw new UsageError(`Unknown command '${command.slice(0, 100)}'.\n\n${usage}`)
  }
  return commands[name]!(words.slice(length), context)
}

const secretBytesMax = 64 * 1024

/** Reads a line without echo from a terminal, otherwise all of standard input. Throws a UsageError. */
async function readSecret(prompt: string): Promise<string> {
  const { stdin, stderr } = process
  if (stdin.isTTY) {
    stderr.write(prompt)
    const output = new Writable({ write: (_chunk, _encoding, done) => done() })
    const lines = createInterface({ input: stdin, output, terminal: true })
    try {
      return await lines.question('')
    } finally {
      lines.close()
      stderr.write('\n')
    }
  }
  let text = ''
  for await (const piece of stdin.setEncoding('utf8')) {
    text += String(piece)
    if (text.length > secretBytesMax) throw new UsageError('Standard input is too long for a key.')
  }
  return text
}

if (import.meta.main) {
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    readVariables,
    readSecret,
    print: (text) => void process.stdout.write(text),
    notice: (line) => void process.stderr.write(`${line}\n`),
  })
}
