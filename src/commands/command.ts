import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import type { Variables } from '../settings/config.ts'
import type { Notice } from '../storage/store.ts'
import { nearName } from '../core/words/near-name.ts'

/** What a command prints; `failed` says that what it looked at is not as it should be. */
export type Told = { text: string; failed?: boolean }

/** Runs a command with the words behind its name. Throws a UsageError for wrong words. */
export type Command = (words: string[], context: CommandContext) => Promise<Told>

/** What a command uses of its process. */
export type CommandContext = {
  /** The variables of the process and of `.env`. */
  readVariables: () => Variables
  /** Prints a line on standard error. */
  notice: Notice
}

/** Its message is printed without a stack trace. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** Options of a command for `parsed`. */
export const text = { type: 'string' } as const
export const json = { json: { type: 'boolean' } } as const

/** The options and the other words of a command, of which there are at most so many. */
export function parsed<Options extends ParseArgsOptionsConfig>(
  words: string[],
  options: Options,
  wordsMax = 0,
) {
  try {
    const found = parseArgs({ args: words, options, allowPositionals: wordsMax > 0 })
    const unknown = found.positionals[wordsMax]
    if (unknown === undefined) return found
    throw new UsageError(`There is no place for '${unknown.slice(0, 100)}'.`)
  } catch (error) {
    if (error instanceof UsageError) throw error
    const message = error instanceof Error ? error.message.slice(0, 300) : String(error)
    const [, unknown = ''] = /^Unknown option '--?([^']+)'/.exec(message) ?? []
    const near = nearName(unknown, Object.keys(options))
    throw new UsageError(near === undefined ? message : `${message} Did you mean '--${near}'?`)
  }
}

/** What `--json` prints. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
