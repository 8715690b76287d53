/** The command line: `npm run -s gateway -- <command>`. */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { archive } from './commands/archive.ts'
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
import { reconcile } from './commands/reconcile.ts'
import { reportUsage } from './commands/report-usage.ts'
import { ConfigError, readVariables, type Variables } from './settings/config.ts'
import { withStart } from './settings/start-record.ts'
import { vendors } from './providers/index.ts'
import { settingsTable } from './settings/settings-table.ts'
import { GatewayError } from './core/error.ts'
import { nearName } from './core/words/near-name.ts'
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
              [--tag-budget <tag>:<dollars>/day|month|total]
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
  providers set-key <provider> [--force]
                         test and store a provider's key, read from standard input; it replaces the
                         stored ones; --force also stores a key that the provider rejects
  providers remove-key <provider> [<id>]
                         remove one stored key of a provider, or all
  providers encrypt-again
                         encrypt the stored keys with a new key, or with the first of ENCRYPTION_KEY
  usage [--by model,day] [--since 7d] [--until <date>] [--account <id>] [--member <id>]
        [--mode test]    print usage and cost
  reconcile <file> [--provider <id>] [--tolerance-usd 0.01]
                         compare a cost export of a vendor with the ledger
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
  archive <folder>       write closed months of usage to files, and remove the rows that usage_months does not keep
  migrate [--dry-run]    run missing migrations; --dry-run tries them on a copy
  doctor                 report what is configured, reachable and missing
  doctor --connect <address> [--key <key>]
                         check that address for Claude, ChatGPT, Cursor and other clients
  settings               print all settings as a table
`

const limitsHelp = `
Limits: --requests-per-minute <count>, --tokens-per-minute <count>, --images-per-minute <count>,
--concurrency <count>, and --budget-usd <dollars> with --budget-period day|month|total.
`

const usageOf = (help: string, end = '') => {
  const limits = help.includes('[limits]') ? limitsHelp : ''
  return `Usage: ${gatewayCommand} <command>\n\n${help}${limits}\n${end}`
}

const wholeUsage = (): string =>
  usageOf(
    commandsHelp,
    'All commands except settings accept --json. Each command accepts --help, which prints an example.\n',
  )

/** Arguments that a command may have, for an example of it; the others are called without arguments. */
const examples: Readonly<Record<string, string>> = {
  'accounts create': '--name research --budget-usd 100 --budget-period month',
  'keys create':
    '--mode live --name nightly --models gpt-5.4-mini --budget-usd 20 --budget-period day',
  'keys list': '--json',
  'keys rotate': 'key_… --overlap-minutes 60',
  'keys revoke': 'key_…',
  'cassettes export': 'checkout > checkout.json',
  'cassettes import': 'checkout checkout.json',
  'providers set-key': vendors[0]!.id,
  'providers remove-key': vendors[0]!.id,
  reconcile: 'cost_2026-11-01_2026-11-30.csv',
  usage: '--by model,day --since 30d --mode live',
  'people password-link': 'ada@example.com',
  backup: 'gateway-backup.db',
  restore: 'gateway-backup.db',
  export: 'gateway-export.jsonl',
  import: 'gateway-export.jsonl',
  archive: '/backup/usage',
  migrate: '--dry-run',
  doctor: '--connect https://gateway.example/mcp',
}

const exampleOf = (name: string): string =>
  Object.hasOwn(commands, name)
    ? `For example: ${[gatewayCommand, name, examples[name]].filter(Boolean).join(' ')}\n` +
      (name === 'settings' ? '' : '--json prints the result as JSON.\n')
    : 'Each command accepts --help, which prints an example.\n'

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
  archive,
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
  reconcile,
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
    streams.notice(isExpected ? inCommands(error.message) : stack)
    return isUserError ? 2 : 1
  }
}

/** The commands that do what operations of the API do which messages name. */
const commandOf: Readonly<Record<string, string>> = {
  'GET /api/keys': 'keys list',
  'GET /api/accounts': 'accounts list',
}

/** A message that names a command in the place of each operation of the API. */
function inCommands(message: string): string {
  return message
    .replaceAll(/\bGET \/api\/\w+(?![\w/])/g, (named) => {
      const command = commandOf[named]
      return command === undefined ? named : `\`${command}\``
    })
    .replaceAll(/\bPUT \/api\/cassettes\/(\S+?)(?=[,.\s])/g, '`cassettes import $1 <file>`')
}

async function runNamed(words: string[], context: CommandContext): Promise<CommandResult> {
  const [first, second] = words
  if (first === undefined || first === 'help') return { text: wholeUsage() }
  const length = [2, 1].find((count) => Object.hasOwn(commands, words.slice(0, count).join(' ')))
  const helpAt = words.findIndex((word) => word === '--help' || word === '-h')
  const name = words.slice(0, length ?? Math.max(helpAt, 0)).join(' ')
  const help = helpFor(name)
  if (helpAt >= 0 && help !== '')
    return { text: name === '' ? wholeUsage() : usageOf(help, exampleOf(name)) }
  // The name of a group of commands alone, such as `keys`.
  if (length === undefined && second === undefined && helpFor(first) !== '')
    return { text: usageOf(helpFor(first), exampleOf(first)) }
  if (length === undefined) {
    const command = second === undefined ? first : `${first} ${second}`
    const names = Object.keys(commands)
    const groups = names.map((name) => name.split(' ')[0]!)
    const near = nearName(command, names) ?? nearName(first, groups)
    const remedy =
      near === undefined
        ? `\`${gatewayCommand} help\` lists the commands.`
        : `Did you mean '${near}'? \`${gatewayCommand} ${near} --help\` describes it.`
    throw new UsageError(`Unknown command '${command.slice(0, 100)}'. ${remedy}`)
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
  const notice = (line: string) => void process.stderr.write(`${line}\n`)
  let variables: Variables | undefined
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    readVariables: () => (variables ??= withStart(readVariables(), notice)),
    isTerminal: process.stdout.isTTY,
    readSecret,
    print: (text) => void process.stdout.write(text),
    notice,
  })
}
