import { createAudit } from '../accounts/audit.ts'
import { createPasswordLinks } from '../accounts/password-links.ts'
import { loadConfig, readVariables, siteAddress } from '../config.ts'
import { openStore } from '../storage/open-store.ts'
import { json, jsonText, parsed, UsageError, type Command } from './command.ts'

/** people password-link <e-mail> */
export const createPasswordLink: Command = async (words, notice) => {
  const { values, positionals } = parsed(words, json, 1)
  const [email] = positionals
  if (email === undefined) throw new UsageError('Say the e-mail of the person.')
  const { config, secrets } = loadConfig(readVariables())
  const { limits } = config
  const store = await openStore(config, secrets, notice)
  try {
    const clock = Date.now
    const audit = createAudit(store, clock)
    const baseUrl = siteAddress(config)
    const links = createPasswordLinks({ store, audit, clock, baseUrl, limits })
    const made = await links.createByEmail(email)
    const text = `This link sets a new password, once, until ${made.expires_at}: ${made.link}\n`
    return { text: values.json === true ? jsonText(made) : text }
  } finally {
    await store.close()
  }
}
