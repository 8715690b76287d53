import { commandLine } from '../accounts/audit.ts'
import { json, jsonText, parsed, type Command } from './command.ts'
import { everyPage } from './every-page.ts'
import { shownName } from './name.ts'
import { withStore } from './with-store.ts'

/** accounts list */
export const listAccounts: Command = async (words, context) => {
  const { values } = parsed(words, json)
  return withStore('none', context, async ({ accounts }) => {
    const rows = await everyPage((page) => accounts.list(commandLine, page))
    if (values.json === true) return { text: jsonText(rows) }
    if (rows.length === 0) return { text: 'There are no accounts. The first start makes one.\n' }
    const lines = rows.map(({ id, created_at: at, is_operator: isOperator, name }) => {
      const role = isOperator ? 'operator' : 'account '
      return `${id}  ${dateText(at)}  ${role}  ${shownName(name)}\n`
    })
    return { text: lines.join('') }
  })
}

/** A time to the minute. */
export function dateText(time: string): string {
  return time.slice(0, 16).replace('T', ' ')
}
