import type { components } from '../../generated/types.ts'
import { createAuthenticator, type Authenticator } from './authenticator.ts'
import type { TestGateway } from './gateway.ts'

type PasskeyOptions = components['schemas']['PasskeyOptions']
type Headers = Readonly<Record<string, string>>

/** The password of each person here. */
export const ownPassword = 'correct horse battery'
let made = 0

/** Prepares a valid request for each operation on passkeys. */
export const passkeyRequests = {
  createPasskeySession: async (gateway: TestGateway) => {
    const { authenticator } = await withPasskey(gateway)
    const options = await optionsOf(gateway, '/api/sessions/passkey/options', {})
    return { body: authenticator.get(options) }
  },
  startPasskey: async (gateway: TestGateway) => ({
    body: { current_password: ownPassword },
    headers: await withPassword(gateway, ownPassword),
  }),
  createPasskey: async (gateway: TestGateway) => {
    const headers = await withPassword(gateway, ownPassword)
    return { body: await newPasskey(gateway, createAuthenticator(gateway.url), headers), headers }
  },
  deletePasskey: async (gateway: TestGateway) => {
    const { id, headers } = await withPasskey(gateway)
    return { path: { id }, headers }
  },
}

/** The headers of a new person who has this password. */
export async function withPassword(
  { people, setUp }: TestGateway,
  own: string,
): Promise<Record<string, string>> {
  const token = await people.setUpLink()
  const email = `with-password-${++made}@example.com`
  const letIn = await setUp({ name: 'Ada Lovelace', email, password: own, token })
  const cookie = `gateway_session=${letIn.token}`
  return { cookie, 'x-csrf-token': letIn.signedIn.csrf_token }
}

/** A new person with a passkey, in a browser at `origin`. */
export async function withPasskey(gateway: TestGateway, origin: string = gateway.url) {
  const headers = await withPassword(gateway, ownPassword)
  const authenticator = createAuthenticator(origin)
  const body = await newPasskey(gateway, authenticator, headers)
  const answer = await gateway.post('/api/me/passkeys', body, { key: null, headers })
  const { id = 'psk_none' } = (await answer.json()) as { id?: string }
  return { id, authenticator, headers }
}

async function newPasskey(gateway: TestGateway, authenticator: Authenticator, headers: Headers) {
  const options = await optionsOf(gateway, '/api/me/passkeys/options', headers)
  return { name: 'Laptop of Ada', credential: authenticator.create(options) }
}

async function optionsOf(gateway: TestGateway, path: string, headers: Headers) {
  const body = { current_password: ownPassword }
  const answer = await gateway.post(path, body, { key: null, headers: { ...headers } })
  // A gateway that refuses everything returns no options.
  const none = { public_key: { user: { id: '' }, challenge: '' } }
  return { ...none, ...((await answer.json()) as Partial<PasskeyOptions>) }
}
