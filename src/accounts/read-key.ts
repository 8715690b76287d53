import type { Credentials } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { keyRemedy } from '../core/words/remedies.ts'

/** The API key of a request. Throws `missing_api_key` or `invalid_api_key`; names no key. */
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

/** The error for a text that is no key of this gateway: says what it probably is. */
export function notAKey(text: string): GatewayError {
  return invalidKey(shapes.find(([pattern]) => pattern.test(text))?.[1] ?? noKey)
}

/** The error for a key that is none, with what to do. */
export function invalidKey(message: string): GatewayError {
  return new GatewayError('invalid_api_key', `${message} ${keyRemedy}`)
}

const noKey = 'This is no API key of this gateway: they begin with mag_live_ or mag_test_.'

/** What a text is that stands in the place of a key; the first that fits. */
const shapes: readonly [RegExp, string][] = [
  [/^["'`\u2018-\u201d]|["'`]$/, 'The key stands in quotes. Send it without them.'],
  [/^bearer\b/i, "The word 'Bearer' stands in the key. Only `Authorization` has it, once."],
  [
    /^(?:undefined|null|none|nil|nan|\[object Object\]|\$.*|%\w+%|\{\{.*|<.*|.*_API_KEY|your[-_ ].*)$/i,
    'A name or a placeholder stands in the place of the key: the variable that holds it is not filled in.',
  ],
  [/\.\.\.$|…/, 'The key is shortened. Send all of it.'],
  [
    /^mag_secret_/,
    'This is the secret of a client: it gets a token from POST /oauth/token, with `grant_type=client_credentials`.',
  ],
  [/^mag_(?:refresh|code)_/, 'This is to be exchanged for a token at POST /oauth/token.'],
  [/^mag_(?:live|test)_/, 'The key has a typing error, or is not whole: its check sum is wrong.'],
]

function headerComplaint(text: string): string {
  if (/^(?:bearer)?$/i.test(text)) {
    return 'There is no key behind `Bearer`: the variable that holds it is probably empty.'
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
