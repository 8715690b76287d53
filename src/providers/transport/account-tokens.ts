import { createPrivateKey, sign, type KeyObject } from 'node:crypto'
import { ProviderFailure } from '../../core/failure.ts'
import { jsonObject } from '../../core/any-json.ts'
import { isPrivateHost } from '../../core/public-address.ts'

export type TokenRequest = { address: string; body: string }

type ServiceAccount = { email: string; address: string; keyId: string; key: KeyObject }

/** The longest life of an assertion (RFC 7523, section 3; the vendor's limit is an hour). */
const assertionSeconds = 3600
/** Allows for a clock that is ahead of the vendor's. */
const skewSeconds = 30
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** The reason why a text is no usable JSON of a service account, without parts of it; undefined if it is usable. */
export function faultOfAccount(text: string): string | undefined {
  try {
    accountIn(text)
    return undefined
  } catch (error) {
    return error instanceof AccountFault ? error.message : 'its private_key cannot be read.'
  }
}

/** The secret parts of a service account, which texts are cleaned of; empty for another text. */
export function secretsOfAccount(text: string): string[] {
  const { private_key: pem, private_key_id: id } = jsonObject(text) ?? {}
  const lines = typeof pem === 'string' ? pem.split('\n') : []
  const isSecret = (line: string) => line.length >= secretLineMin && !line.startsWith('-----')
  return [...lines.filter(isSecret), ...(typeof id === 'string' ? [id] : [])]
}

const secretLineMin = 16

/**
 * Returns a function that writes the request for a token: a signed assertion (RS256) that the token
 * endpoint exchanges for it. The function throws a ProviderFailure if the account cannot be used. `clock` is in
 * milliseconds.
 */
export function accountTokens(
  text: string,
  scope: string,
  clock: () => number,
): () => TokenRequest {
  return () => {
    const { email, address, keyId, key } = usableAccount(text)
    const iat = Math.floor(clock() / 1000) - skewSeconds
    const claims = { iss: email, scope, aud: address, iat, exp: iat + assertionSeconds }
    const signed = [{ alg: 'RS256', typ: 'JWT', kid: keyId }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const signature = sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')
    const form = { grant_type: grantType, assertion: `${signed}.${signature}` }
    return { address, body: new URLSearchParams(form).toString() }
  }
}

function usableAccount(text: string): ServiceAccount {
  try {
    return accountIn(text)
  } catch {
    // The cause may quote the text.
    throw new ProviderFailure('credentials', 'The JSON of the service account cannot be used.')
  }
}

class AccountFault extends Error {
  override name = 'AccountFault'
}

/** Throws for a text that is not the JSON file of a service account. */
function accountIn(text: string): ServiceAccount {
  const members = jsonObject(text) ?? {}
  const { type, client_email: email, private_key: pem, private_key_id: keyId } = members
  const { token_uri: address } = members
  if (type !== 'service_account') {
    throw new AccountFault(
      'it must be the JSON file of a service account, or the path of the file.',
    )
  }
  const isWhole = [email, pem, keyId, address].every((one) => typeof one === 'string')
  if (!isWhole) {
    throw new AccountFault(
      'the file must have client_email, private_key, private_key_id and token_uri. Download it again.',
    )
  }
  // `isWhole` has checked the types.
  const url = URL.parse(address as string)
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isPrivateHost(url))
  if (url === null || !isSafe || url.username !== '' || url.search !== '') {
    throw new AccountFault('its token_uri must be an https address. Download it again.')
  }
  const key = createPrivateKey(pem as string)
  if (key.asymmetricKeyType !== 'rsa') throw new AccountFault('its private_key must be an RSA key.')
  return { email: email as string, address: address as string, keyId: keyId as string, key }
}
