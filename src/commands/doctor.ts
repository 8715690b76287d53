import { loadConfig, readVariables } from '../config.ts'
import { diagnose, diagnosisText } from '../doctor.ts'
import { json, jsonText, parsed, type Command } from './command.ts'

/** doctor: what is configured, what is reachable, what is missing. */
export const doctor: Command = async (words) => {
  const { values } = parsed(words, json)
  const { config, secrets, doubts } = loadConfig(readVariables())
  const diagnosis = await diagnose({ config, secrets, doubts })
  const isJson = values.json === true
  const text = isJson ? jsonText({ ...diagnosis, config }) : diagnosisText(diagnosis)
  return { text, failed: !diagnosis.healthy }
}
