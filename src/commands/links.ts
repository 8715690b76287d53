import { createSetUpLinks, setUpText } from '../accounts/set-up-link.ts'
import { json, jsonText, parsed, type Command, UsageError } from './command.ts'
import { gatewayAddress, withStore } from './with-store.ts'
import { createPasswordLinks } from '../accounts/password-links.ts'

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
