import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isMembers } from '../core/any-json.ts'
import { settings } from '../../generated/settings.ts'
import type { Variables } from './sources.ts'

/** What a command needs to see the models and the address of a gateway. No secrets: the file is read by people. */
const names = ['CONFIG_FILE', 'BASE_URL', 'HOST', 'PORT']
const pathIn = (dataDir: string) => join(dataDir, 'gateway.start.json')

/**
 * Writes with which CONFIG_FILE and addresses a gateway was started into DATA_DIR, for commands that are run without
 * these variables. Without room on the disk nothing is written.
 */
export function recordStart(dataDir: string, variables: Variables): void {
  const given = names.flatMap((name) => {
    const value = variables[name]
    if (!value) return []
    return [[name, name === 'CONFIG_FILE' ? resolve(value) : value] as const]
  })
  const text = `${JSON.stringify(Object.fromEntries(given), null, 2)}\n`
  try {
    writeFileSync(pathIn(dataDir), text, { mode: 0o600 })
  } catch {
    // Commands then see what their own variables say, as before the first start.
  }
}

/**
 * The variables of a command: its own, and those of `recordStart` that it does not have. A settings file that
 * cannot be read here is left out, and told by `notice`.
 */
export function withStart(variables: Variables, notice: (line: string) => void): Variables {
  const folder = settings.find(({ name }) => name === 'data_dir')!
  // The default of this setting is a text.
  const recorded = readStart(variables['DATA_DIR'] || (folder.standard as string))
  const missing = names.filter((name) => !variables[name] && recorded[name] !== undefined)
  const added = Object.fromEntries(missing.map((name) => [name, recorded[name]]))
  const { CONFIG_FILE: file } = added
  if (file === undefined || existsSync(file)) return { ...variables, ...added }
  delete added['CONFIG_FILE']
  notice(
    `The gateway was started with CONFIG_FILE=${file}, which does not exist here: this command does not know its models and providers.`,
  )
  return { ...variables, ...added }
}

function readStart(dataDir: string): Variables {
  try {
    const start: unknown = JSON.parse(readFileSync(pathIn(dataDir), 'utf8'))
    if (!isMembers(start)) return {}
    const texts = names.filter((name) => typeof start[name] === 'string')
    return Object.fromEntries(texts.map((name) => [name, String(start[name])]))
  } catch {
    return {}
  }
}
