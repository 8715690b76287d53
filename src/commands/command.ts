import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import type { Variables } from '../settings/config.ts'
import type { Notice } from '../storage/store.ts'
import { nearName } from '../core/words/near-name.ts'

/** The output of a command; `failed` makes its exit code 1. */
export type CommandResult = { text: string; failed?: boolean }

/** Runs a command with the arguments after its name. Throws a UsageError for invalid arguments. */
export type Command = (words: string[], context: CommandContext) => Promise<CommandResult>

export type CommandContext = {
  /** The variables of the process and of `.env`. */
  readVariables: () => Variables
  /** Reads a secret: a line without echo from a terminal, otherwise all of standard input. */
  readSecret: (prompt: string) => Promise<string>
  /** Whether a person reads the output, and no script. */
  isTerminal?: boolean
  notice: Notice
}

/** Invalid arguments; the message is printed without a stack trace. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** Options of a command for `parsed`. */
export const text = { type: 'string' } as const
export const json = { json: { type: 'boolean' } } as const

/** Parses options and at most `wordsMax` positional arguments. Throws a UsageError. */
export function parsed<Options extends ParseArgsOptionsConfig>(
  words: string[],
  options: Options,
  wordsMax = 0,
) {
  try {
    const found = parseArgs({ args: words, options, allowPositionals: wordsMax > 0 })
    const unknown = found.positionals[wordsMax]
    if (unknown === undefined) return found
    throw new UsageError(`Unexpected argument '${unknown.slice(0, 100)}'.`)
  } catch (error) {
    if (error instanceof UsageError) throw error
    const message = error instanceof Error ? error.message.slice(0, 300) : String(error)
    const [, unknown = ''] = /^Unknown option '--?([^']+)'/.exec(message) ?? []
    const near = nearName(unknown, Object.keys(options))
    throw new UsageError(near === undefined ? message : `${message} Did you mean '--${near}'?`)
  }
}

/** Formats the output for `--json`. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
