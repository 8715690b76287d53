import { LRUCache } from 'lru-cache'
import { clientMetadata } from './client-metadata.ts'

/** Fetches a public https address, up to `bytesMax` bytes. */
export type FetchPublic = (
  address: string,
  limits: { bytesMax: number; signal: AbortSignal },
) => Promise<string>

/** Fetches what clients publish of themselves. */
export type ClientDocuments = {
  /** Whether one more may be fetched for who asks now. */
  hasRoom(): boolean
  /** As `fetch`. */
  fetch: typeof fetch
}

export type DocumentLimits = {
  oauthDocumentBytesMax: number
  oauthDocumentFetchesMax: number
  oauthDocumentFetchesPerAddressMax: number
  oauthDocumentRetryMs: number
  oauthDocumentsFailedMax: number
}
type Options = {
  fetchPublic: FetchPublic
  /** The address, or the network, that the request of now came from. */
  askedFrom: () => string
  limits: DocumentLimits
}

/** What oidc-provider gives each request; it says so itself. */
const timeoutMs = 2500

/**
 * Fetches what clients publish of themselves, in the manner of `fetch`, as oidc-provider asks for it: the
 * documents with their metadata as it is taken, their keys as they are. No stranger takes the room of all.
 */
export function createClientDocuments(options: Options): ClientDocuments {
  const { fetchPublic, askedFrom, limits } = options
  const failed = new LRUCache<string, Error>({
    max: limits.oauthDocumentsFailedMax,
    ttl: limits.oauthDocumentRetryMs,
  })
  const fetches = createFetches(limits)
  return {
    hasRoom: () => fetches.haveRoom(askedFrom()),
    fetch: async (address, init) => {
      const url = address instanceof Request ? address.url : new URL(address).href
      const known = failed.get(url)
      if (known !== undefined) throw known
      const origin = askedFrom()
      if (!fetches.haveRoom(origin)) throw new Error('Too many documents of clients are fetched.')
      fetches.begin(origin)
      try {
        const signal = init?.signal ?? AbortSignal.timeout(timeoutMs)
        const bytesMax = limits.oauthDocumentBytesMax
        const given: unknown = JSON.parse(await fetchPublic(url, { bytesMax, signal }))
        return Response.json(isDocument(given, url) ? documentOf(given) : given)
      } catch (error) {
        // One request asks for it twice, and strangers as often as they like.
        if (error instanceof Error) failed.set(url, error)
        throw error
      } finally {
        fetches.end(origin)
      }
    },
  }
}

/** What is fetched now, by who asked for it. */
function createFetches(limits: DocumentLimits) {
  const underWay = new Map<string, number>()
  let total = 0
  const of = (origin: string) => underWay.get(origin) ?? 0
  return {
    haveRoom: (origin: string) =>
      total < limits.oauthDocumentFetchesMax &&
      of(origin) < limits.oauthDocumentFetchesPerAddressMax,
    begin: (origin: string) => {
      total++
      underWay.set(origin, of(origin) + 1)
    },
    end: (origin: string) => {
      total--
      if (of(origin) > 1) underWay.set(origin, of(origin) - 1)
      else underWay.delete(origin)
    },
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
