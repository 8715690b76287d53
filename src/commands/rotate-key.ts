import { bodyChecks } from '../../generated/checks.js'
import { commandLine } from '../accounts/audit.ts'
import { checkedBody, countIn, given } from './body.ts'
import { json, jsonText, parsed, text, UsageError, type Command } from './command.ts'
import { withStore } from './with-store.ts'

/** keys rotate: prints the new secret alone, this once. */
export const rotateKey: Command = async (words, context) => {
  const { values, positionals } = parsed(words, { 'overlap-minutes': text, ...json }, 1)
  const [id] = positionals
  if (id === undefined) throw new UsageError('Say which key: `keys list` shows their ids.')
  const body = given({ overlap_minutes: countIn(values['overlap-minutes']) })
  const { overlap_minutes: minutes } = checkedBody(bodyChecks.rotateKey, body)
  return withStore('none', context, async ({ keys }) => {
    const made = await keys.rotate(commandLine, { id }, minutes)
    return { text: values.json === true ? jsonText(made) : `${made.key}\n` }
  })
}
