import { operations, resolve, strictComplaints } from './contract.ts'

const ofOAuth = operations
  .filter((row) => row['x-protocol'] === 'oauth')
  .map((row) => ({ ...row, pattern: new RegExp(`^${row.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))

/** Violations of the contract in an answer of an OAuth operation; empty when it complies. */
async function oauthComplaints(method: string, path: string, answer: Response): Promise<string[]> {
  const found = ofOAuth.find((row) => row.method === method.toLowerCase() && row.pattern.test(path))
  if (found === undefined) return []
  const { operationId, responses } = found
  const { status, headers } = answer
  const promised = responses[status] ?? responses[`${Math.floor(status / 100)}XX`]
  if (promised === undefined) return [`${operationId} does not promise ${status}.`]
  const { content } = resolve(promised)
  const type = (headers.get('content-type') ?? '').split(';', 1)[0]!
  const media = content?.[type]
  if (content !== undefined && media === undefined) {
    return [`${operationId} does not promise ${type} with ${status}.`]
  }
  if (media === undefined || !type.endsWith('json')) return []
  return strictComplaints(resolve(media.schema), await answer.clone().json())
}

/** `fetch` that rejects when an answer of an OAuth operation violates the contract. */
export async function promisedFetch(address: string, init: RequestInit = {}): Promise<Response> {
  const answer = await fetch(address, init)
  const found = await oauthComplaints(init.method ?? 'GET', new URL(address).pathname, answer)
  if (found.length > 0) throw new Error(found.join(' '))
  return answer
}
