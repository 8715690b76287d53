import type { IncomingMessage } from 'node:http'
import type { Identify } from '../core/caller.ts'
import { accessTokenPrefix } from './metadata.ts'

const bearerKey = new RegExp(`^bearer (?! *${accessTokenPrefix})`, 'i')

/**
 * Refuses a registration with a wrong API key. Clients that support OAuth start a sign-in when `/mcp` answers
 * a wrong key with 401, and show this error to the person. Throws `invalid_api_key` and `expired_api_key`.
 */
export async function assertPresentedKey(
  { headers }: Pick<IncomingMessage, 'headers'>,
  identify: Identify,
): Promise<void> {
  const { authorization = '', 'x-api-key': apiKey } = headers
  // Access tokens are not checked: a client that signs in again may still send its expired token.
  if (bearerKey.test(authorization)) {
    await identify({ authorization, apiKey: undefined })
  } else if (typeof apiKey === 'string' && apiKey !== '') {
    await identify({ authorization: undefined, apiKey })
  }
}

/** The id of the client whose secret a request contains; undefined without a readable secret. */
export function clientWithSecret(
  { headers: { authorization = '' } }: Pick<IncomingMessage, 'headers'>,
  form: URLSearchParams,
): string | undefined {
  const [, credentials] = /^basic +(\S+)$/i.exec(authorization) ?? []
  if (credentials !== undefined) return idOf(Buffer.from(credentials, 'base64').toString())
  return form.get('client_secret') ? (form.get('client_id') ?? undefined) : undefined
}

/** The id in the credentials of `Basic`, which is form-encoded (RFC 6749 section 2.3.1). */
function idOf(pair: string): string | undefined {
  const end = pair.indexOf(':')
  if (end < 0) return undefined
  return (
    new URLSearchParams(`id=${pair.slice(0, end).replaceAll('&', '%26')}`).get('id') ?? undefined
  )
}
