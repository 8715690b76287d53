import type { settingsCheck } from '../../generated/settings-check.js'
import { settings } from '../../generated/settings.ts'
import { removedSettings } from './removed.ts'

/** What a check of the settings complains about, with the setting and the remedy. */
export function complaintText({
  instancePath,
  keyword,
  message = '',
  params,
  parentSchema,
}: NonNullable<typeof settingsCheck.errors>[number]): string {
  const members = instancePath.slice(1).split('/')
  const path = members.map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~')).join('.')
  const setting = settings.find(({ name }) => name === path)
  const name = setting?.variable ?? (path === '' ? 'gateway.yaml' : path)
  if (keyword === 'enum') return `${name} must be one of: ${String(params['allowedValues'])}.`
  if (keyword === 'additionalProperties') {
    const unknown = String(params['additionalProperty'])
    const now = path === 'limits' ? removedSettings[unknown] : undefined
    if (now !== undefined) return `limits.${unknown} is no setting since 0.1: ${now}.`
    return `${name}: there is no setting '${unknown}'.`
  }
  if (keyword === 'unevaluatedProperties') {
    return `${name}: there is no '${String(params['unevaluatedProperty'])}'.`
  }
  const words = complaintWords[keyword]
  const described = setting?.description ?? parentSchema?.description
  return `${name} ${words === undefined ? message : words(params, described)}.`
}

type Words = (params: Record<string, unknown>, description?: string) => string

const complaintWords: Readonly<Record<string, Words>> = {
  type: ({ type }) => `must be ${typeNames[String(type)] ?? `of the type ${String(type)}`}`,
  minimum: ({ limit }) => `must be at least ${String(limit)}`,
  maximum: ({ limit }) => `must be at most ${String(limit)}`,
  pattern: ({ pattern }, description) =>
    description === undefined
      ? `must be written as ${String(pattern)}`
      : `is not what it should be: ${description.split('\n', 1)[0]!.replace(/\.$/, '')}`,
}

const typeNames: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table of names and values',
  string: 'a text',
}
