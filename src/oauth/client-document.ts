import { LRUCache } from 'lru-cache'
import { clientMetadata } from './client-metadata.ts'

/** Fetches a public https address, up to `bytesMax` bytes. */
export type FetchPublic = (
  address: string,
  limits: { bytesMax: number; signal: AbortSignal },
) => Promise<string>

/** As `fetch`, for what clients publish. */
export type DocumentFetch = typeof fetch

/** Documents are short (the draft speaks of 5 kB); keys with certificates are longer. */
const bytesMax = 16_384
const underWayMax = 32
const failedMax = 1000
const failedMs = 10_000

/**
 * Fetches what clients publish of themselves, in the manner of `fetch`, as oidc-provider asks for it: the
 * documents with their metadata as it is taken, their keys as they are.
 */
export function createDocumentFetch(fetchPublic: FetchPublic): DocumentFetch {
  const failed = new LRUCache<string, Error>({ max: failedMax, ttl: failedMs })
  let underWay = 0
  return async (address, init) => {
    const url = address instanceof Request ? address.url : new URL(address).href
    const known = failed.get(url)
    if (known !== undefined) throw known
    if (underWay >= underWayMax) throw new Error('Too many documents of clients are fetched.')
    underWay++
    try {
      // oidc-provider gives each request 2.5 seconds.
      const signal = init?.signal ?? AbortSignal.timeout(2500)
      const given: unknown = JSON.parse(await fetchPublic(url, { bytesMax, signal }))
      return Response.json(isDocument(given, url) ? documentOf(given) : given)
    } catch (error) {
      // One request asks for it twice, and strangers as often as they like.
      if (error instanceof Error) failed.set(url, error)
      throw error
    } finally {
      underWay--
    }
  }
}

type ClientDocument = { client_id: string } & Record<string, unknown>

function isDocument(given: unknown, url: string): given is ClientDocument {
  return (
    typeof given === 'object' &&
    given !== null &&
    'client_id' in given &&
    new URL(String(given.client_id)).href === url
  )
}

function documentOf(given: ClientDocument): object {
  // Without a word on it there is no secret: nobody has given the client one.
  const { token_endpoint_auth_method: method = 'none', client_id: id } = given
  return { ...clientMetadata({ ...given, token_endpoint_auth_method: method }), client_id: id }
}
