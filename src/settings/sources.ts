import { isMembers } from '../core/any-json.ts'
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseEnv } from 'node:util'
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml'
import { settings } from '../../generated/settings.ts'
import { nearName } from '../core/words/near-name.ts'
import { systemReason } from '../core/words/system-reason.ts'
import { vendors } from '../providers/index.ts'
import { variablesOf } from '../providers/vendor.ts'

export type Variables = Readonly<Record<string, string | undefined>>

/** How to name a setting to the operator: as it is written, with the file and line if it is in the file. */
export type NameOf = (...path: string[]) => string

/**
 * Merges the stored settings, gateway.yaml and the variables; later ones take precedence. `nameOf` names a
 * setting for its errors. Appends errors to `complaints`.
 */
export function readSources(variables: Variables, stored: SettingsFile, complaints: string[]) {
  const file = readSettingsFile(variables['CONFIG_FILE'], complaints)
  const merged: Record<string, unknown> = { ...file.values }
  for (const [name, value] of Object.entries(stored.values))
    merged[name] = mergedValue(file.values[name], value)
  const variableOf = new Map<string, string>()
  for (const { name, variable } of settings) {
    const text = variable === null ? undefined : variables[variable]?.trim()
    if (variable === null || text === undefined || text === '') continue
    merged[name] = text
    variableOf.set(name, variable)
  }
  const nameOf: NameOf = (setting = '', ...members) => {
    if (variableOf.has(setting)) return variableOf.get(setting)!
    const written = writtenPath([setting, ...members])
    const [member] = members
    const inFile = file.values[setting]
    const isOfFile = member === undefined ? inFile !== undefined : isMember(inFile, member)
    const source = [isOfFile ? file : stored, file].find((one) =>
      Object.hasOwn(one.values, setting),
    )
    if (source !== undefined) return `${source.placeOf([setting, ...members])}: ${written}`
    return settings.find(({ name }) => name === setting)?.variable ?? written
  }
  const own = file.values['providers'] ?? []
  /** The entries of `providers` that are in gateway.yaml; all others come from the stored settings. */
  const fileProviders: ReadonlySet<unknown> = new Set<unknown>(Array.isArray(own) ? own : [own])
  return { merged, nameOf, fileProviders }
}

/** A path of members as people write it, such as `providers[0].id`. */
export function writtenPath([setting = '', ...members]: readonly string[]): string {
  const rest = members.map((member) => (/^\d+$/.test(member) ? `[${member}]` : `.${member}`))
  return setting + rest.join('')
}

function isMember(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
}

/** Entries of the file and of the valid stored settings; the file's entry wins where both have a name. */
function mergedValue(inFile: unknown, stored: unknown): unknown {
  if (Array.isArray(inFile) && Array.isArray(stored)) return [...inFile, ...(stored as unknown[])]
  if (isMembers(inFile) && !Array.isArray(stored)) return { ...(stored as object), ...inFile }
  // An invalid value in the file is reported by the check.
  return inFile ?? stored
}

const envFile = '.env'

/** The text of `.env` in the working directory; empty if there is none. Throws an error of the file system. */
function envText(): string {
  return existsSync(envFile) ? readFileSync(envFile, 'utf8') : ''
}

/** The variables of `.env` in the working directory. Throws an error of the file system. */
export function readEnv(): Variables {
  return parseEnv(envText())
}

/** A warning for each line of `.env` that is no variable, without the line, which may hold a secret. */
export function doubtsAboutEnv(): string[] {
  // A quoted value may have several lines.
  const text = envText().replaceAll(
    /=[ \t]*(["'`])[^]*?\1/g,
    (value) => `=${value.replaceAll(/[^\n]/g, '')}`,
  )
  return text
    .split('\n')
    .flatMap((line, index) =>
      /^\s*(?:#|$|(?:export\s+)?[\w.-]+\s*=|[ \t]*$)/.test(line)
        ? []
        : `${envFile}, line ${index + 1} is ignored: it must be NAME=value, or begin with #.`,
    )
}

/** A warning for each variable whose name resembles that of a setting which is not set. */
export function doubtsAboutNames(variables: Variables): string[] {
  const names = new Set([
    ...settings.flatMap(({ variable }) => variable ?? []),
    ...vendors.flatMap(variablesOf),
    'CONFIG_FILE',
    'GATEWAY_KEY',
  ])
  const unset = [...names].filter((name) => !variables[name])
  return Object.entries(variables).flatMap(([name, value]) => {
    // Kubernetes and Docker set such variables for other services.
    if (names.has(name) || !value || /^(?:tcp|udp):/.test(value)) return []
    const close = [name.replace(/^GATEWAY_/, ''), name.replace(/_(?:KEY|TOKEN)$/, '_API_KEY')]
    const meant = close.find((one) => unset.includes(one)) ?? nearName(name, unset)
    return meant === undefined ? [] : `${name} is not a setting. Did you mean ${meant}?`
  })
}

/** The settings in a file, or in the store, and the line of each. */
export type SettingsFile = {
  values: Record<string, unknown>
  /** The place of a member, such as `gateway.yaml, line 3`; of the nearest line if the member is not in the file. */
  placeOf: (path: readonly string[]) => string
}

function readSettingsFile(path: string | undefined, complaints: string[]): SettingsFile {
  const none = { values: {}, placeOf: () => basename(path ?? '') }
  if (path === undefined || path === '') return none
  try {
    const file = parseSettings(readFileSync(path, 'utf8'), basename(path))
    if (file !== undefined) return file
    complaints.push(`CONFIG_FILE: ${path} must be a YAML mapping of settings, such as port: 8080.`)
  } catch (error) {
    complaints.push(`CONFIG_FILE: ${path} cannot be read: ${systemReason(error)}.`)
  }
  return none
}

/** Parses YAML; undefined if it is no mapping. Throws for invalid YAML. `name` names it in errors. */
export function parseSettings(text: string, name: string): SettingsFile | undefined {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter })
  if (document.errors[0] !== undefined) throw document.errors[0]
  const content: unknown = document.toJS() ?? {}
  if (typeof content !== 'object' || Array.isArray(content)) return undefined
  const lineOf = (member: readonly string[]) => lineCounter.linePos(offsetOf(document, member)).line
  return { values: { ...content }, placeOf: (member) => `${name}, line ${lineOf(member)}` }
}

/** The position of a member in the file, in characters. */
function offsetOf({ contents }: Document, path: readonly string[]): number {
  let node: unknown = contents
  let offset = 0
  for (const name of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name)
      if (pair === undefined) break
      offset = isScalar(pair.key) ? (pair.key.range?.[0] ?? offset) : offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(name)]
      offset = isNode(node) ? (node.range?.[0] ?? offset) : offset
    } else break
  }
  return offset
}
