import { commandLine } from '../accounts/audit.ts'
import { given } from './body.ts'
import { json, jsonText, parsed, text, type Command } from './command.ts'
import { everyPage } from './every-page.ts'
import { dateText } from './list-accounts.ts'
import { shownName } from './name.ts'
import { withStore } from './with-store.ts'

/** keys list: those of all accounts, or of one. */
export const listKeys: Command = async (words, context) => {
  const { values } = parsed(words, { account: text, ...json })
  const { account } = values
  return withStore('none', context, async ({ accounts, keys }) => {
    if (account !== undefined) await accounts.retrieve(commandLine, account)
    const filter = given({ accountId: account })
    const rows = await everyPage((page) => keys.list(filter, page))
    if (values.json === true) return { text: jsonText(rows) }
    if (rows.length === 0) return { text: 'There are no keys. `keys create` makes one.\n' }
    const lines = rows.map((row) => {
      const ended = row.revoked_at ?? (row.state === 'expired' ? row.expires_at : null)
      const state = ended === null ? row.state : `${row.state} ${dateText(ended)}`
      const used = row.last_used_at === null ? 'never used' : `used ${dateText(row.last_used_at)}`
      const about = [row.kind, row.mode, dateText(row.created_at), state, used, shownName(row.name)]
      return `${[row.id, row.hint, ...about].join('  ')}\n`
    })
    return { text: lines.join('') }
  })
}
