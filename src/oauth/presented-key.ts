import type { IncomingMessage } from 'node:http'
import type { Identify } from '../core/caller.ts'
import { accessTokenPrefix } from './metadata.ts'

const bearerKey = new RegExp(`^bearer (?! *${accessTokenPrefix})`, 'i')

/**
 * Refuses an API key that a client sends along and that is none. Clients that can do OAuth take the 401
 * of a wrong key for the beginning of a sign-in: here their person is told of the key instead. Throws
 * `invalid_api_key` and `expired_api_key`.
 */
export async function assertPresentedKey(
  { headers }: Pick<IncomingMessage, 'headers'>,
  identify: Identify,
): Promise<void> {
  const { authorization = '', 'x-api-key': apiKey } = headers
  // A client that signs in anew may still send the token that is over.
  if (bearerKey.test(authorization)) {
    await identify({ authorization, apiKey: undefined })
  } else if (typeof apiKey === 'string' && apiKey !== '') {
    await identify({ authorization: undefined, apiKey })
  }
}
