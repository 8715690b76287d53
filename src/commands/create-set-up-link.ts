import { createAudit } from '../accounts/audit.ts'
import { createSetUpLinks, setUpText } from '../accounts/set-up-link.ts'
import { loadConfig, readVariables } from '../config.ts'
import { openStore } from '../storage/store.ts'
import { json, jsonText, parsed, type Command } from './command.ts'

/** setup-link */
export const createSetUpLink: Command = async (words, notice) => {
  const { values } = parsed(words, json)
  const { config } = loadConfig(readVariables())
  const { baseUrl = `http://${config.host}:${config.port}`, limits } = config
  const store = await openStore(config)
  store.notices.forEach(notice)
  try {
    const audit = createAudit(store, Date.now)
    const token = await createSetUpLinks({ store, audit, clock: Date.now, limits }).create()
    return { text: values.json === true ? jsonText({ token }) : setUpText(baseUrl, token) }
  } finally {
    await store.close()
  }
}
