import { commandLine } from '../accounts/audit.ts'
import { bodyChecks } from '../../generated/checks.js'
import { allowanceIn, allowanceOptions, checkedBody, nameIn } from './body.ts'
import { json, jsonText, parsed, text, type Command } from './command.ts'
import { withStore } from './with-store.ts'
import { dateText, everyPage, shownName, tableText } from './lists.ts'

/** accounts create: prints only the id. */
export const createAccount: Command = async (words, context) => {
  const { values } = parsed(words, { name: text, ...allowanceOptions, ...json })
  const name = nameIn(values.name)
  const body = checkedBody(bodyChecks.createAccount, { name, ...allowanceIn(values) })
  return withStore('create', context, async ({ accounts }) => {
    await accounts.first()
    const account = await accounts.create(commandLine, body)
    return { text: values.json === true ? jsonText(account) : `${account.id}\n` }
  })
}

export const listAccounts: Command = async (words, context) => {
  const { values } = parsed(words, json)
  return withStore('none', context, async ({ accounts }) => {
    const rows = await everyPage((page) => accounts.list(commandLine, page))
    if (values.json === true) return { text: jsonText(rows) }
    if (rows.length === 0) return { text: 'There are no accounts. The first start creates one.\n' }
    const cells = rows.map(({ id, created_at: at, is_operator: isOperator, name }) => [
      id,
      dateText(at),
      isOperator ? 'operator' : 'customer',
      shownName(name),
    ])
    return { text: tableText(['Id', 'Created', 'Role', 'Name'], cells) }
  })
}
