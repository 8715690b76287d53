import { createHash, randomBytes } from 'node:crypto'
import { request } from 'node:http'
import type { TestGateway } from './gateway.ts'
import { promisedFetch } from './oauth-promises.ts'

/** What a client keeps of PKCE until it has its code. */
export type Pkce = { verifier: string; challenge: string }

export function createPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** Where the clients of tests are sent back to; nothing listens there. */
export const callback = 'http://127.0.0.1:33418/callback'

export type Registered = { client_id: string; client_secret?: string; redirect_uris: string[] }

/** Registers a client, as an editor would. */
export function register(
  gateway: Pick<TestGateway, 'url'>,
  metadata: object = {},
): Promise<Response> {
  const told = {
    client_name: 'Editor',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
  }
  return promisedFetch(`${gateway.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...told, ...metadata }),
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

/** Begins an authorization; what is undefined in `changes` is left out. */
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

/** Posts a form, as clients do to the token endpoint and its neighbours. */
export function postForm(
  gateway: Pick<TestGateway, 'url'>,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = new URLSearchParams(fields)
  return promisedFetch(gateway.url + path, { method: 'POST', body, headers })
}

/** The status, headers and text of a GET with headers that `fetch` would not send. */
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
