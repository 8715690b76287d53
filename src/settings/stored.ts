import { settingsCheck } from '../../generated/settings-check.js'
import { systemReason } from '../core/words/system-reason.ts'
import { complaintTexts } from './complaint.ts'
import { parseSettings, writtenPath, type SettingsFile } from './sources.ts'

/** The settings that operators may store, besides the file. */
const storable: readonly string[] = ['providers', 'routes', 'aliases', 'catalog']

const name = 'stored settings'
const none: SettingsFile = { values: {}, placeOf: () => name }

/** Parses and checks the stored settings. Appends errors to `complaints`; the result is then empty. */
export function readStoredSettings(text: string, complaints: string[]): SettingsFile {
  try {
    const stored = parseSettings(text, name)
    const errors =
      stored === undefined
        ? [`The ${name} must be a YAML mapping. For example: aliases: {fast: gpt-5-mini}`]
        : errorsIn(stored)
    complaints.push(...errors)
    return stored === undefined || errors.length > 0 ? none : stored
  } catch (error) {
    complaints.push(`The ${name} cannot be read: ${systemReason(error)}.`)
    return none
  }
}

function errorsIn({ values, placeOf }: SettingsFile): string[] {
  const nameOf = (...path: string[]) => `${placeOf(path)}: ${writtenPath(path)}`
  // The check adds defaults to what it checks.
  const isValid = settingsCheck(structuredClone(values))
  const errors = isValid ? [] : complaintTexts(settingsCheck.errors ?? [], nameOf)
  const others =
    errors.length > 0 ? [] : Object.keys(values).filter((one) => !storable.includes(one))
  return [
    ...errors,
    ...others.map((one) => `${nameOf(one)} cannot be stored, only ${storable.join(', ')}.`),
  ]
}
