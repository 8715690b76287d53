import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Credentials, Mode } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { keyRemedy } from '../core/words/remedies.ts'

const secretBytes = 32
const shape = /^mag_(live|test)_([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{6})$/

/**
 * A key, or a client secret: `mag_<mode>_` or `mag_secret_`, 256 random bits in base64url, and a checksum that
 * detects typing errors.
 */
export function createKey(kind: Mode | 'secret'): string {
  const body = `mag_${kind}_${randomBytes(secretBytes).toString('base64url')}`
  return body + checksum(body)
}

/** A token for a cookie or a one-time link: 256 random bits in base64url. Only its digest is stored. */
export function createToken(): string {
  return randomBytes(secretBytes).toString('base64url')
}

/** Whether a text has the form and checksum of a key; any other text needs no look-up. */
export function isWellFormedKey(text: string): boolean {
  return shape.test(text) && text.slice(-6) === checksum(text.slice(0, -6))
}

/** The stored digest of a key: SHA-256, since a random key of 256 bits needs no slower hash. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'base64url')
}

/** Prefix and last four characters, by which people recognise a key. */
export function hintOf(key: string): string {
  return `${key.slice(0, key.indexOf('_', 4) + 1)}…${key.slice(-4)}`
}

function checksum(body: string): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(body))
  return bytes.toString('base64url')
}

/** The API key of a request. Throws `missing_api_key` or `invalid_api_key`, without the key in the text. */
export function readKey({ authorization, apiKey }: Credentials): string {
  if (authorization === undefined) {
    if (apiKey === undefined || apiKey === '') {
      throw new GatewayError('missing_api_key', `There is no API key. ${keyRemedy}`)
    }
    return apiKey
  }
  const key = /^bearer +(\S+) *$/i.exec(authorization)?.[1]
  if (key === undefined) throw invalidKey(headerComplaint(authorization.trim()))
  return key
}

/** The error for a text that is not a key of this gateway, with the probable mistake. */
export function notAKey(text: string): GatewayError {
  return invalidKey(shapes.find(([pattern]) => pattern.test(text))?.[1] ?? noKey)
}

/** An `invalid_api_key` error with the remedy. */
export function invalidKey(message: string): GatewayError {
  return new GatewayError('invalid_api_key', `${message} ${keyRemedy}`)
}

const noKey = 'This is not an API key of this gateway. Its keys begin with mag_live_ or mag_test_.'

/** Common mistakes in place of a key; the first match applies. */
const shapes: readonly [RegExp, string][] = [
  [/^["'`\u2018-\u201d]|["'`]$/, 'The key is in quotes. Send it without quotes.'],
  [
    /^bearer\b/i,
    "The key begins with the word 'Bearer'. Write this word once, in the Authorization header, and not in the key.",
  ],
  [
    /^(?:undefined|null|none|nil|nan|\[object Object\]|\$.*|%\w+%|\{\{.*|<.*|.*_API_KEY|your[-_ ].*)$/i,
    'The key is a name or a placeholder: the variable that should hold the key is not set.',
  ],
  [/\.\.\.$|…/, 'The key is shortened. Send all of it.'],
  [
    /^mag_secret_/,
    'This is a client secret. Exchange it for a token at POST /oauth/token with `grant_type=client_credentials`.',
  ],
  [/^mag_(?:refresh|code)_/, 'Exchange this code or refresh token at POST /oauth/token first.'],
  [/^mag_(?:live|test)_/, 'The key is mistyped or incomplete: its checksum is wrong.'],
]

function headerComplaint(text: string): string {
  if (/^(?:bearer)?$/i.test(text)) {
    return 'The key after `Bearer` is missing: the variable that holds it is probably empty.'
  }
  if (/^bearer +bearer\b/i.test(text)) return 'The Authorization header says `Bearer` twice.'
  const [, key] = /^bearer[ :=]*(.*)$/i.exec(text) ?? []
  if (key !== undefined) {
    const shape = shapes.find(([pattern]) => pattern.test(key))
    const isPlaceholder = shape !== undefined && !key.startsWith('mag_')
    return isPlaceholder
      ? shape[1]
      : 'The Authorization header must be `Bearer <API_KEY>`, with one space between.'
  }
  const [scheme = ''] = text.split(' ', 1)
  return text.includes(' ') && /^[a-z]{3,20}$/i.test(scheme)
    ? `The Authorization header must be \`Bearer <API_KEY>\`, not ${scheme}.`
    : 'The Authorization header has no scheme. It must be `Bearer <API_KEY>`.'
}
