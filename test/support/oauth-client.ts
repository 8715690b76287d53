import { createHash, randomBytes } from 'node:crypto'
import { request } from 'node:http'
import type { TestGateway } from './gateway.ts'
import { promisedFetch } from './oauth-promises.ts'

/** PKCE values that a client keeps until it receives its code. */
export type Pkce = { verifier: string; challenge: string }

export function createPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** Redirect URI of test clients; no server listens there. */
export const callback = 'http://127.0.0.1:33418/callback'

export type Registered = { client_id: string; client_secret?: string; redirect_uris: string[] }

/** Registers a client, as an editor does. */
export function register(
  gateway: Pick<TestGateway, 'url'>,
  metadata: object = {},
): Promise<Response> {
  const defaults = {
    client_name: 'Editor',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
  }
  return promisedFetch(`${gateway.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...defaults, ...metadata }),
  })
}

export async function registered(
  gateway: Pick<TestGateway, 'url'>,
  metadata: object = {},
): Promise<Registered> {
  const answer = await register(gateway, metadata)
  if (answer.status !== 201) throw new Error(await answer.text())
  return (await answer.json()) as Registered
}

/** Starts an authorization request; an undefined value in `changes` omits the parameter. */
export function authorize(
  gateway: Pick<TestGateway, 'url'>,
  clientId: string,
  changes: Record<string, string | undefined> = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const asked = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: callback,
    code_challenge: createPkce().challenge,
    code_challenge_method: 'S256',
    state: 'a state',
    ...changes,
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(asked)) if (value !== undefined) query.set(name, value)
  return promisedFetch(`${gateway.url}/oauth/authorize?${String(query)}`, {
    redirect: 'manual',
    headers,
  })
}

/** Posts a form, for example to the token endpoint. */
export function postForm(
  gateway: Pick<TestGateway, 'url'>,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = new URLSearchParams(fields)
  return promisedFetch(gateway.url + path, { method: 'POST', body, headers })
}

/** Sends a GET with headers that `fetch` does not allow; returns status, headers and text. */
export function getAs(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          text: Buffer.concat(pieces).toString(),
        }),
      )
    })
    asked.on('error', reject)
    asked.end()
  })
}
