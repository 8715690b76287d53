import type { settingsCheck } from '../generated/settings-check.js'
import { settings } from '../generated/settings.ts'

/** What a check of the settings complains about, with the setting and the remedy. */
export function complaintText({
  instancePath,
  keyword,
  message = '',
  params,
}: NonNullable<typeof settingsCheck.errors>[number]): string {
  const path = instancePath.slice(1).replaceAll('/', '.')
  const setting = settings.find(({ name }) => name === path)
  const name = setting?.variable ?? (path === '' ? 'gateway.yaml' : path)
  if (keyword === 'enum') return `${name} must be one of: ${String(params['allowedValues'])}.`
  if (keyword === 'additionalProperties') {
    return `${name}: there is no setting '${String(params['additionalProperty'])}'.`
  }
  const words = complaintWords[keyword]
  return `${name} ${words === undefined ? message : words(params, setting)}.`
}

type Words = (params: Record<string, unknown>, setting?: (typeof settings)[number]) => string

const complaintWords: Readonly<Record<string, Words>> = {
  type: ({ type }) => `must be ${typeNames[String(type)] ?? `of the type ${String(type)}`}`,
  minimum: ({ limit }) => `must be at least ${String(limit)}`,
  maximum: ({ limit }) => `must be at most ${String(limit)}`,
  pattern: (_params, setting) =>
    `is not what it should be: ${(setting?.description ?? '').split('\n', 1)[0]!.replace(/\.$/, '')}`,
}

const typeNames: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table of names and values',
  string: 'a text',
}
