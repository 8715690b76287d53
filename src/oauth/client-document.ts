import { LRUCache } from 'lru-cache'
import { clientMetadata } from './client-metadata.ts'

/** Fetches a public https address, up to `bytesMax` bytes. */
export type FetchPublic = (
  address: string,
  limits: { bytesMax: number; signal: AbortSignal },
) => Promise<string>

/** Fetches the documents that clients publish. */
export type ClientDocuments = {
  /** Whether the sender of the current request may have another document fetched. */
  hasRoom(): boolean
  /** As `fetch`. */
  fetch: typeof fetch
}

export type DocumentLimits = {
  oauthDocumentFetchesMax?: number
  oauthDocumentFetchesPerAddressMax?: number
}
type Options = {
  fetchPublic: FetchPublic
  /** The address or network of the current request. */
  askedFrom: () => string
  limits: DocumentLimits
}

/** A client has a name, some addresses and its keys. */
const bytesMax = 16_384
/** A sign-in fetches a document twice; a host that fails is not asked again at once. */
const retryMs = 10_000
const failedMax = 1000
/** Each holds a connection for two seconds at most. */
const fetchesMax = 32
const fetchesPerAddressMax = 4
/** As in oidc-provider's documentation. */
const timeoutMs = 2500

/**
 * Fetches documents of clients, whose metadata it corrects, and keys of clients, verbatim; oidc-provider
 * calls it as `fetch`. The pending fetches of one origin are limited, so that others find room.
 */
export function createClientDocuments(options: Options): ClientDocuments {
  const { fetchPublic, askedFrom, limits } = options
  const failed = new LRUCache<string, Error>({ max: failedMax, ttl: retryMs })
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
        const given: unknown = JSON.parse(await fetchPublic(url, { bytesMax, signal }))
        return Response.json(isDocument(given, url) ? documentOf(given) : given)
      } catch (error) {
        // One request may fetch it twice, and a stranger any number of times.
        if (error instanceof Error) failed.set(url, error)
        throw error
      } finally {
        fetches.end(origin)
      }
    },
  }
}

/** Pending fetches by the origin that asked. */
function createFetches({
  oauthDocumentFetchesMax: max = fetchesMax,
  oauthDocumentFetchesPerAddressMax: perAddressMax = fetchesPerAddressMax,
}: DocumentLimits) {
  const underWay = new Map<string, number>()
  let total = 0
  const of = (origin: string) => underWay.get(origin) ?? 0
  return {
    haveRoom: (origin: string) => total < max && of(origin) < perAddressMax,
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
  // Default `none`: a client with a document has no secret.
  const { token_endpoint_auth_method: method = 'none', client_id: id } = given
  return { ...clientMetadata({ ...given, token_endpoint_auth_method: method }), client_id: id }
}
