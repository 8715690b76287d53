import { loadConfig, type Config } from '../settings/config.ts'
import { UsageError, type CommandContext } from './command.ts'

/**
 * The settings of a gateway whose store is a file. Throws a UsageError where it is a database, with
 * what does the same there.
 */
export function embeddedConfig(
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

/** The one file that a command was given. Throws a UsageError where there is none. */
export function fileIn([file]: readonly string[], command: string): string {
  if (file !== undefined && file !== '') return file
  throw new UsageError(`Name the file: npm run -s gateway -- ${command} <file>`)
}
