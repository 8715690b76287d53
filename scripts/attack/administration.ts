import type { Target } from './target.ts'

type Gateway = Pick<Target, 'url' | 'operatorKey'>

/** Makes an account as whoever runs the gateway does; gives its id. */
export async function createAccount(gateway: Gateway, body: object): Promise<string> {
  return (await made(gateway, '/api/accounts', body)).id
}

/** Makes a live key of an account. */
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
  // The contract's ApiKeyCreated or Account.
  return JSON.parse(text) as { id: string; key: string }
}

/** What the administration shows of an account to its own key. Throws what it answers otherwise. */
export async function shown<Body>(url: string, path: string, key: string): Promise<Body> {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
  if (answer.status === 200) return (await answer.json()) as Body
  throw new Error(`GET ${path} answers ${answer.status}: ${await answer.text()}`)
}

/** All that a list of the administration holds. */
export async function everyOne<One>(url: string, path: string, key: string): Promise<One[]> {
  const all: One[] = []
  let cursor: string | null = null
  do {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: { data: One[]; next_cursor: string | null } = await shown(
      url,
      `${path}?limit=100${more}`,
      key,
    )
    all.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null)
  return all
}
