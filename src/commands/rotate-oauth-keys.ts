import { commandLine } from '../accounts/audit.ts'
import { rotateOAuthKeys } from '../accounts/oauth/oauth-keys.ts'
import { json, jsonText, parsed, type Command } from './command.ts'
import { withStore } from './with-store.ts'

/** oauth rotate-keys */
export const rotateOauthKeys: Command = async (words, context) => {
  const { values } = parsed(words, json)
  return withStore('create', context, async ({ store, audit, accounts, clock }) => {
    const { id: accountId } = await accounts.first()
    await rotateOAuthKeys({ store, audit, clock, by: commandLine, accountId })
    const text =
      'New keys of OAuth are in the store. Running gateways sign with them in five minutes, and take what was signed before for a day.\n'
    return { text: values.json === true ? jsonText({ rotated: true }) : text }
  })
}
