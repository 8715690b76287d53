import { createAccounts } from '../accounts/accounts.ts'
import { createAudit } from '../accounts/audit.ts'
import { createSetUpLinks, setUpText } from '../accounts/set-up-link.ts'
import { loadConfig, readVariables, siteAddress } from '../config.ts'
import { openStore } from '../storage/open-store.ts'
import { json, jsonText, parsed, type Command } from './command.ts'

/** setup-link */
export const createSetUpLink: Command = async (words, notice) => {
  const { values } = parsed(words, json)
  const { config, secrets } = loadConfig(readVariables())
  const { limits } = config
  const store = await openStore(config, secrets, notice)
  try {
    const clock = Date.now
    const audit = createAudit(store, clock)
    await createAccounts({ store, audit, clock }).first()
    const token = await createSetUpLinks({ store, audit, clock, limits }).create()
    return {
      text: values.json === true ? jsonText({ token }) : setUpText(siteAddress(config), token),
    }
  } finally {
    await store.close()
  }
}
