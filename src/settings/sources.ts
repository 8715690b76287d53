import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseEnv } from 'node:util'
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml'
import { settings } from '../../generated/settings.ts'
import { nearName } from '../core/words/near-name.ts'
import { systemReason } from '../core/words/system-reason.ts'
import { vendors } from '../providers/index.ts'

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>

/** How to name a setting to the operator: as it is written, with the file and line if it is in the file. */
export type NameOf = (...path: string[]) => string

/**
 * Merges gateway.yaml and the variables, which win. `nameOf` names a setting for its errors. Appends errors
 * to `complaints`.
 */
export function readSources(
  variables: Variables,
  complaints: string[],
): { merged: Record<string, unknown>; nameOf: NameOf } {
  const { values, placeOf } = readSettingsFile(variables['CONFIG_FILE'], complaints)
  const merged = { ...values }
  const variableOf = new Map<string, string>()
  for (const { name, variable } of settings) {
    const text = variable === null ? undefined : variables[variable]?.trim()
    if (variable === null || text === undefined || text === '') continue
    merged[name] = text
    variableOf.set(name, variable)
  }
  const nameOf: NameOf = (setting = '', ...members) => {
    if (variableOf.has(setting)) return variableOf.get(setting)!
    const path = members.map((member) => (/^\d+$/.test(member) ? `[${member}]` : `.${member}`))
    const written = setting + path.join('')
    if (Object.hasOwn(values, setting)) return `${placeOf([setting, ...members])}: ${written}`
    return settings.find(({ name }) => name === setting)?.variable ?? written
  }
  return { merged, nameOf }
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
    ...vendors.flatMap(({ keyVariables, baseUrlVariable }) => [...keyVariables, baseUrlVariable]),
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

/** The settings in a file, and the line of each. */
type SettingsFile = {
  values: Record<string, unknown>
  /** The place of a member, such as `gateway.yaml, line 3`; of the nearest line if the member is not in the file. */
  placeOf: (path: readonly string[]) => string
}

function readSettingsFile(path: string | undefined, complaints: string[]): SettingsFile {
  const none = { values: {}, placeOf: () => basename(path ?? '') }
  if (path === undefined || path === '') return none
  try {
    const lineCounter = new LineCounter()
    const document = parseDocument(readFileSync(path, 'utf8'), { lineCounter })
    if (document.errors[0] !== undefined) throw document.errors[0]
    const content: unknown = document.toJS() ?? {}
    if (typeof content === 'object' && !Array.isArray(content)) {
      const lineOf = (member: readonly string[]) =>
        lineCounter.linePos(offsetOf(document, member)).line
      const placeOf = (member: readonly string[]) => `${basename(path)}, line ${lineOf(member)}`
      return { values: { ...content }, placeOf }
    }
    complaints.push(`CONFIG_FILE: ${path} must be a YAML mapping of settings, such as port: 8080.`)
  } catch (error) {
    complaints.push(`CONFIG_FILE: ${path} cannot be read: ${systemReason(error)}.`)
  }
  return none
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
