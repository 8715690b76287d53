import type { settingsCheck } from '../../generated/settings-check.js'
import { settings } from '../../generated/settings.ts'
import { removedSettings } from './removed.ts'

type CheckError = NonNullable<typeof settingsCheck.errors>[number]

/** Describes an invalid setting: its name, the value unless it may be a secret, and the remedy. */
export function complaintText(error: CheckError): string {
  const { instancePath, keyword, message = '', params } = error
  const members = instancePath.slice(1).split('/')
  const path = members.map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~')).join('.')
  const setting = settings.find((one) => one.name === path)
  const name = setting?.variable ?? (path === '' ? 'gateway.yaml' : path)
  if (keyword === 'additionalProperties') {
    const unknown = String(params['additionalProperty'])
    const now = path === 'limits' ? removedSettings[unknown] : undefined
    if (now !== undefined)
      return `limits.${unknown} was removed in version 0.1: ${now}. Remove it from gateway.yaml.`
    return `${name}: unknown setting '${unknown}'.`
  }
  if (keyword === 'unevaluatedProperties') {
    return `${name}: unknown member '${String(params['unevaluatedProperty'])}'.`
  }
  return `${name} ${complaintWords[keyword]?.(error) ?? `${message}.`}`
}

const complaintWords: Readonly<Record<string, (error: CheckError) => string>> = {
  enum: ({ params, data }) =>
    `must be one of: ${[params['allowedValues']].flat().join(', ')}; it is ${JSON.stringify(data)}.`,
  type: ({ params: { type }, data }) => {
    const isSecret = type === 'string' || typeof data === 'object'
    const what = typeNames[String(type)] ?? `of the type ${String(type)}`
    return `must be ${what}${isSecret ? '' : notValue(data)}.`
  },
  minimum: ({ params, data }) => `must be at least ${String(params['limit'])}${notValue(data)}.`,
  maximum: ({ params, data }) => `must be at most ${String(params['limit'])}${notValue(data)}.`,
  pattern: ({ params, parentSchema = {}, data }) => {
    const { description, examples = [], 'x-must': must, 'x-secret': isSecret } = parentSchema
    if (must === undefined) {
      return `is malformed: ${JSON.stringify(data)}. Expected: ${description ?? String(params['pattern'])}`
    }
    // An address may contain a password.
    const isShown = !isSecret && !String(data).includes('@')
    return `must ${must}${isShown ? notValue(data) : ''}. For example: ${String(examples[0])}`
  },
}

function notValue(value: unknown): string {
  return `, not ${JSON.stringify(value)}`
}

const typeNames: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table of names and values',
  string: 'a text',
}
