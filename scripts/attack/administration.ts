import type { Target } from './target.ts'

type Gateway = Pick<Target, 'url' | 'operatorKey'>

/** Makes an account with the operator's key; returns its id. */
export async function createAccount(gateway: Gateway, body: object): Promise<string> {
  return (await made(gateway, '/api/accounts', body)).id
}

/** Makes a live key for an account. */
export async function createKey(
  gateway: Gateway,
  accountId: string,
  body: object = {},
): Promise<{ id: string; key: string }> {
  return made(gateway, `/api/keys?account_id=${accountId}`, { name: 'key', mode: 'live', ...body })
}

async function made(
  { url, operatorKey }: Gateway,
  path: string,
  body: object,
): Promise<{ id: string; key: string }> {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (answer.status >= 300) throw new Error(`POST ${path} answers ${answer.status}: ${text}`)
  // By the contract the body is an ApiKeyCreated or an Account.
  return JSON.parse(text) as { id: string; key: string }
}

/** The JSON answer to a GET of the administration API. Throws when the status is not 200. */
export async function fetchJson<Body>(url: string, path: string, key: string): Promise<Body> {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
  if (answer.status === 200) return (await answer.json()) as Body
  throw new Error(`GET ${path} answers ${answer.status}: ${await answer.text()}`)
}

/** All items of a list of the administration API, over all pages. */
export async function allItems<One>(url: string, path: string, key: string): Promise<One[]> {
  const all: One[] = []
  let cursor: string | null = null
  do {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: { data: One[]; next_cursor: string | null } = await fetchJson(
      url,
      `${path}?limit=100${more}`,
      key,
    )
    all.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null)
  return all
}
