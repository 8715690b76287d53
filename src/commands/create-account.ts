import { commandLine } from '../accounts/audit.ts'
import { bodyChecks } from '../../generated/checks.js'
import { allowanceIn, allowanceOptions, checkedBody } from './body.ts'
import { json, jsonText, parsed, text, type Command } from './command.ts'
import { nameIn } from './name.ts'
import { withStore } from './with-store.ts'

/** accounts create: prints the id alone. */
export const createAccount: Command = async (words, context) => {
  const { values } = parsed(words, { name: text, ...allowanceOptions, ...json })
  const name = nameIn(values.name)
  const asked = checkedBody(bodyChecks.createAccount, { name, ...allowanceIn(values) })
  return withStore('create', context, async ({ accounts }) => {
    await accounts.first()
    const account = await accounts.create(commandLine, asked)
    return { text: values.json === true ? jsonText(account) : `${account.id}\n` }
  })
}
