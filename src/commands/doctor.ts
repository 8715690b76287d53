import { loadConfig } from '../settings/config.ts'
import { examineConnection } from '../connect/connect.ts'
import { readTarget } from '../connect/target.ts'
import { connectionText } from '../connect/told.ts'
import { diagnose, diagnosisText } from './diagnose.ts'
import { isPublicAddress } from '../pictures/public-address.ts'
import { json, jsonText, parsed, text, UsageError, type Command, type Told } from './command.ts'

/**
 * doctor: what is configured, what is reachable, what is missing. With `--connect`: what would
 * break the clients that are given an address (docs/connect.md#is-it-right).
 */
export const doctor: Command = async (words, { readVariables }) => {
  const { values } = parsed(words, { ...json, connect: text, key: text })
  const isJson = values.json === true
  if (values.connect !== undefined) {
    return examine(
      values.connect,
      values.key ?? (readVariables()['GATEWAY_KEY'] || undefined),
      isJson,
    )
  }
  if (values.key !== undefined) {
    throw new UsageError('--key is used with --connect <address> alone.')
  }
  const { config, secrets, doubts } = loadConfig(readVariables())
  const diagnosis = await diagnose({ config, secrets, doubts })
  const told = isJson ? jsonText({ ...diagnosis, config }) : diagnosisText(diagnosis)
  return { text: told, failed: !diagnosis.healthy }
}

async function examine(address: string, key: string | undefined, isJson: boolean): Promise<Told> {
  const target = readTarget(address)
  if (target === undefined) {
    throw new UsageError(
      '--connect takes the address that is given to clients, such as https://gateway.example/mcp.',
    )
  }
  const found = await examineConnection({ target, key, now: Date.now, isPublic: isPublicAddress })
  return { text: isJson ? jsonText(found) : connectionText(found), failed: !found.healthy }
}
