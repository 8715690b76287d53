import { commandLine } from '../accounts/audit.ts'
import { json, jsonText, parsed, UsageError, type Command } from './command.ts'
import { withStore } from './with-store.ts'

/** keys revoke */
export const revokeKey: Command = async (words, context) => {
  const { values, positionals } = parsed(words, json, 1)
  const [id] = positionals
  if (id === undefined) throw new UsageError('Say which key: `keys list` shows their ids.')
  return withStore('none', context, async ({ keys }) => {
    const { state } = await keys.retrieve({ id })
    const key = await keys.revoke(commandLine, { id })
    if (values.json === true) return { text: jsonText(key) }
    return { text: state === 'revoked' ? `${id} is revoked already.\n` : `Revoked ${id}.\n` }
  })
}
