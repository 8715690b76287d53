import { createAccounts } from '../accounts/accounts.ts'
import { createAudit } from '../accounts/audit.ts'
import { rotateOwnKeys } from '../accounts/oauth/own-keys.ts'
import { loadConfig, readVariables } from '../config.ts'
import { openStore } from '../storage/open-store.ts'
import { json, jsonText, parsed, type Command } from './command.ts'

/** oauth rotate-keys */
export const rotateOauthKeys: Command = async (words, notice) => {
  const { values } = parsed(words, json)
  const { config, secrets } = loadConfig(readVariables())
  const store = await openStore(config, secrets, notice)
  try {
    const clock = Date.now
    const audit = createAudit(store, clock)
    const { id: accountId } = await createAccounts({ store, audit, clock }).first()
    const by = { id: 'command_line', address: null }
    await rotateOwnKeys({ store, audit, clock, by, accountId })
    const text =
      'New keys of OAuth are in the store. Running gateways sign with them in five minutes, and take what was signed before for a day.\n'
    return { text: values.json === true ? jsonText({ rotated: true }) : text }
  } finally {
    await store.close()
  }
}
