import { createSetUpLinks, setUpText } from '../accounts/set-up-link.ts'
import { json, jsonText, parsed, type Command } from './command.ts'
import { gatewayAddress, withStore } from './with-store.ts'

/** setup-link */
export const createSetUpLink: Command = async (words, context) => {
  const { values } = parsed(words, json)
  return withStore('create', context, async ({ store, audit, accounts, clock, ...settings }) => {
    await accounts.first()
    const token = await createSetUpLinks({ store, audit, clock }).create()
    if (values.json === true) return { text: jsonText({ token }) }
    return { text: setUpText(gatewayAddress(settings), token) }
  })
}
