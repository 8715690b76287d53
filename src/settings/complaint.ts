import { accessSync, constants, statSync } from 'node:fs'
import type { settingsCheck } from '../../generated/settings-check.js'
import { readNetwork } from '../core/networks.ts'
import { nearName } from '../core/words/near-name.ts'
import { shortened } from '../core/error.ts'
import { systemReason } from '../core/words/system-reason.ts'
import { readRedisUrl } from '../peers/redis-url.ts'
import type { NameOf } from './sources.ts'
import { complaintsAboutTelemetry } from './telemetry.ts'

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
    | string
    | undefined
  if (unknown === undefined)
    return `${nameOf(...path)} ${complaintWords[keyword]?.(error) ?? `${message}.`}`
  const name = nameOf(...path, unknown)
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

/** Errors in settings that the schema cannot find, one sentence each. */
export function complaintsAbout(merged: Record<string, unknown>, nameOf: NameOf): string[] {
  const { database_url: database, redis_url: redis } = merged
  const {
    upload_dir: uploads,
    trusted_proxies: proxies,
    private_endpoint_networks: networks,
  } = merged
  return [
    ...(typeof database !== 'string' || URL.canParse(database)
      ? []
      : [
          `${nameOf('database_url')} must be an address such as postgres://user:password@host:5432/database. Percent-encode special characters of the password: @ as %40.`,
        ]),
    // The message quotes no part of the address, which contains a password.
    ...(typeof redis === 'string' ? complaintsAboutRedis(redis, nameOf('redis_url')) : []),
    ...(typeof uploads === 'string' ? complaintsAboutUploads(uploads, nameOf('upload_dir')) : []),
    ...(Array.isArray(proxies) ? proxies : []).flatMap((value: unknown, index) =>
      complaintsAboutNetwork(value, nameOf('trusted_proxies', String(index))),
    ),
    ...(Array.isArray(networks) ? networks : []).flatMap((value: unknown, index) =>
      complaintsAboutNetwork(value, nameOf('private_endpoint_networks', String(index))),
    ),
    ...complaintsAboutOidc(merged, nameOf),
    ...complaintsAboutSet(merged, nameOf, bucketNames, 'The bucket for pictures needs it.'),
    ...complaintsAboutSet(merged, nameOf, ['smtp_url', 'mail_from'], 'Mails need both.'),
    ...complaintsAboutTelemetry(merged, nameOf),
  ]
}

const bucketNames = [
  'picture_bucket',
  'picture_bucket_access_key_id',
  'picture_bucket_secret_access_key',
]

/** Settings that are set together, or none of them. */
function complaintsAboutSet(
  merged: Record<string, unknown>,
  nameOf: NameOf,
  names: readonly string[],
  why: string,
): string[] {
  const missing = names.filter((name) => merged[name] === undefined)
  if (missing.length === 0 || missing.length === names.length) return []
  return missing.map((name) => `${nameOf(name)} is missing. ${why}`)
}

/** Sign-in with OpenID Connect needs a client and roles, and replaces passwords only if it is set. */
function complaintsAboutOidc(merged: Record<string, unknown>, nameOf: NameOf): string[] {
  const { oidc_issuer: issuer, oidc_client_id: clientId, oidc_roles: roles } = merged
  const isClosed = merged['password_sign_in'] === 'closed'
  if (issuer === undefined)
    return isClosed
      ? [`${nameOf('oidc_issuer')} is missing. Without it people need passwords.`]
      : []
  return [
    ...(clientId === undefined
      ? [`${nameOf('oidc_client_id')} is missing. OIDC_ISSUER needs it.`]
      : []),
    ...(Object.keys(Object(roles)).length === 0
      ? [
          `${nameOf('oidc_roles')} is empty, so no sign-in is possible. Give a role to a group or an e-mail domain, for example {"@example.com": member}.`,
        ]
      : []),
  ]
}

function complaintsAboutRedis(url: string, name: string): string[] {
  const address = readRedisUrl(url)
  return typeof address === 'string' ? [`${name}: ${address}`] : []
}

function complaintsAboutNetwork(value: unknown, name: string): string[] {
  if (typeof value !== 'string' || readNetwork(value) !== undefined) return []
  return [`${name}: '${value.slice(0, 100)}' is not an IP address or a network such as 10.0.0.0/8.`]
}

function complaintsAboutUploads(folder: string, name: string): string[] {
  const remedy = 'Set it to a writable folder, or unset it.'
  try {
    if (!statSync(folder).isDirectory()) return [`${name}: ${folder} is not a folder. ${remedy}`]
    accessSync(folder, constants.W_OK)
    return []
  } catch (error) {
    return [`${name}: ${folder} cannot hold pictures: ${systemReason(error)}. ${remedy}`]
  }
}
