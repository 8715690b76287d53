import { readFile } from 'node:fs/promises'
import { bodyChecks } from '../../generated/checks.js'
import { commandLine } from '../accounts/audit.ts'
import { createCassettes, type Cassettes } from '../accounts/cassettes.ts'
import { systemReason } from '../core/words/system-reason.ts'
import { assertValid } from '../http/check-error.ts'
import { createEncryption } from '../storage/encryption.ts'
import { json, jsonText, parsed, text, UsageError, type Command } from './command.ts'
import { withStore, type Opened } from './with-store.ts'
import { counted } from '../core/words/counted.ts'

const options = { account: text, ...json } as const

/** cassettes export: prints the file. */
export const exportCassette: Command = async (words, context) => {
  const { values, positionals } = parsed(words, options, 1)
  const [name] = positionals
  if (name === undefined)
    throw new UsageError('The name of the cassette is missing. Usage: cassettes export <name>')
  return withStore('none', context, (opened) =>
    withCassettes(opened, values.account, async (cassettes, accountId) => ({
      text: jsonText(await cassettes.export({ accountId, name })),
    })),
  )
}

/** cassettes import: stores an exported file. */
export const importCassette: Command = async (words, context) => {
  const { values, positionals } = parsed(words, options, 2)
  const [name, path] = positionals
  if (name === undefined || path === undefined)
    throw new UsageError('An argument is missing. Usage: cassettes import <name> <file>')
  const file = await contentOf(path)
  return withStore('create', context, (opened) =>
    withCassettes(opened, values.account, async (cassettes, accountId) => {
      const made = await cassettes.import(commandLine, { accountId, name }, file)
      const count = counted(made.interactions, 'interaction')
      return { text: values.json ? jsonText(made) : `Imported ${name} with ${count}.\n` }
    }),
  )
}

async function contentOf(path: string) {
  const content = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new UsageError(`${path} cannot be read: ${systemReason(error)}.`)
  })
  const file = parsedJson(content, path)
  assertValid(bodyChecks.importCassette, file)
  return file
}

function parsedJson(content: string, path: string): unknown {
  try {
    return JSON.parse(content)
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${(error as Error).message}.`)
  }
}

async function withCassettes<T>(
  { store, accounts, audit, clock, config, secrets }: Opened,
  account: string | undefined,
  run: (cassettes: Cassettes, accountId: string) => Promise<T>,
): Promise<T> {
  const { id: first } = await accounts.first()
  const { id } = await accounts.retrieve(commandLine, account ?? first)
  const encryption = createEncryption({ ...config, ...secrets })
  const onFault = () => undefined
  const cassettes = createCassettes({ store, audit, clock, encryption, onFault })
  try {
    return await run(cassettes, id)
  } finally {
    cassettes.close()
  }
}
