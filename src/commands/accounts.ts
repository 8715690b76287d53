import { commandLine } from '../accounts/audit.ts'
import { createPasswordLinks } from '../accounts/password-links.ts'
import { createSetUpLinks, setUpText } from '../accounts/set-up-link.ts'
import { bodyChecks } from '../../generated/checks.js'
import { allowanceIn, allowanceOptions, checkedBody, nameIn } from './body.ts'
import { json, jsonText, parsed, text, type Command, UsageError } from './command.ts'
import { gatewayAddress, withStore } from './with-store.ts'
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

export const createSetUpLink: Command = async (words, context) => {
  const { values } = parsed(words, json)
  return withStore('create', context, async ({ store, audit, accounts, clock, ...settings }) => {
    await accounts.first()
    const token = await createSetUpLinks({ store, audit, clock }).create()
    if (values.json === true) return { text: jsonText({ token }) }
    return { text: setUpText(gatewayAddress(settings), token) }
  })
}

export const createPasswordLink: Command = async (words, context) => {
  const { values, positionals } = parsed(words, json, 1)
  const [email] = positionals
  if (email === undefined)
    throw new UsageError('The e-mail address is missing. Usage: people password-link <e-mail>')
  return withStore('none', context, async ({ store, audit, clock, ...settings }) => {
    const baseUrl = gatewayAddress(settings)
    const links = createPasswordLinks({ store, audit, clock, baseUrl })
    const made = await links.createByEmail(email)
    const text = `This link sets a new password, once, until ${made.expires_at}: ${made.link}\n`
    return { text: values.json === true ? jsonText(made) : text }
  })
}
