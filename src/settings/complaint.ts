import type { settingsCheck } from '../../generated/settings-check.js'
import { nearName } from '../core/words/near-name.ts'
import { shortened } from '../core/words/shorten.ts'
import { removedSettings } from './removed.ts'
import type { NameOf } from './sources.ts'

type CheckError = NonNullable<typeof settingsCheck.errors>[number]

/** One sentence for each invalid setting: its name, the value unless it may be a secret, and the remedy. */
export function complaintTexts(errors: readonly CheckError[], nameOf: NameOf): string[] {
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf')
  // The error of a choice replaces those of its alternatives.
  const isAlternative = ({ keyword, instancePath }: CheckError) =>
    keyword !== 'anyOf' && choices.some((one) => instancePath.startsWith(one.instancePath))
  return errors.filter((error) => !isAlternative(error)).map((error) => textOf(error, nameOf))
}

function textOf(error: CheckError, nameOf: NameOf): string {
  const { instancePath, keyword, message = '', params, parentSchema } = error
  const members = instancePath.split('/').slice(1)
  const path = members.map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~'))
  // Ajv puts the name of an unknown member here.
  const unknown = (params['additionalProperty'] ?? params['unevaluatedProperty']) as
    string | undefined
  if (unknown === undefined)
    return `${nameOf(...path)} ${complaintWords[keyword]?.(error) ?? `${message}.`}`
  const name = nameOf(...path, unknown)
  const now = path.join() === 'limits' ? removedSettings[unknown] : undefined
  if (now !== undefined) return `${name} was removed in version 0.1: ${now}. Remove this line.`
  const near = nearName(unknown, Object.keys(parentSchema?.properties ?? {}))
  return `${name} is not a setting.${near === undefined ? '' : ` Did you mean ${near}?`}`
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
  anyOf: mustText,
  pattern: (error) => {
    const { params, parentSchema = {}, data } = error
    if (parentSchema['x-must'] !== undefined) return mustText(error)
    const expected = parentSchema.description ?? String(params['pattern'])
    return `is malformed: ${JSON.stringify(data)}. Expected: ${expected}`
  },
}

/** The words of the schema for an invalid value, and its example. */
function mustText({ parentSchema = {}, data }: CheckError): string {
  const { examples = [], 'x-must': must, 'x-secret': isSecret } = parentSchema
  // An address may contain a password.
  const isShown = !isSecret && !String(data).includes('@')
  return `must ${must}${isShown ? notValue(data) : ''}. For example: ${String(examples[0])}`
}

const valueLengthMax = 200

function notValue(value: unknown): string {
  return `, not ${shortened(JSON.stringify(value), valueLengthMax)}`
}

const typeNames: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table of names and values',
  string: 'a text',
}
