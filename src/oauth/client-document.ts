import { LRUCache } from 'lru-cache'
import { clientMetadata } from './client-metadata.ts'

export type FetchPublic = (
  address: string,
  limits: { bytesMax: number; signal: AbortSignal },
) => Promise<string>

export type ClientDocuments = ReturnType<typeof createClientDocuments>

export type DocumentLimits = {
  oauthDocumentFetchesMax: number
  oauthDocumentFetchesPerAddressMax: number
}
type Options = {
  fetchPublic: FetchPublic
  /** The address or network of the current request. */
  askedFrom: () => string
  limits: DocumentLimits
}

/** Maximum size of a document, which contains a name, a few addresses and keys. */
const bytesMax = 16_384
/** A sign-in fetches a document twice; a failed fetch is not repeated within this time. */
const retryMs = 10_000
const failedMax = 1000
/** Timeout of a fetch, as in oidc-provider's documentation. */
const timeoutMs = 2500

/**
 * The `fetch` of oidc-provider. It corrects the metadata in documents of clients, and returns key sets of
 * clients unchanged. Pending fetches are limited in total and for each address or network.
 */
export function createClientDocuments(options: Options) {
  const { fetchPublic, askedFrom, limits } = options
  const failed = new LRUCache<string, Error>({ max: failedMax, ttl: retryMs })
  const fetches = createFetches(limits)
  return {
    /** Whether the sender of the current request may start another fetch. */
    mayFetch: () => fetches.mayBegin(askedFrom()),
    fetch: async (address: string | URL | Request, init?: RequestInit) => {
      const url = address instanceof Request ? address.url : new URL(address).href
      const failure = failed.get(url)
      if (failure !== undefined) throw failure
      const origin = askedFrom()
      if (!fetches.mayBegin(origin)) throw new Error('Too many client documents are being fetched.')
      fetches.begin(origin)
      try {
        const signal = init?.signal ?? AbortSignal.timeout(timeoutMs)
        const document: unknown = JSON.parse(await fetchPublic(url, { bytesMax, signal }))
        return Response.json(isDocument(document, url) ? documentOf(document) : document)
      } catch (error) {
        // Failures are cached: one request may fetch a document twice, and a caller may repeat the request.
        if (error instanceof Error) failed.set(url, error)
        throw error
      } finally {
        fetches.end(origin)
      }
    },
  }
}

/** Counts pending fetches by the address or network whose request caused them. */
function createFetches({
  oauthDocumentFetchesMax: max,
  oauthDocumentFetchesPerAddressMax: perAddressMax,
}: DocumentLimits) {
  const pending = new Map<string, number>()
  let total = 0
  const of = (origin: string) => pending.get(origin) ?? 0
  return {
    mayBegin: (origin: string) => total < max && of(origin) < perAddressMax,
    begin: (origin: string) => {
      total++
      pending.set(origin, of(origin) + 1)
    },
    end: (origin: string) => {
      total--
      if (of(origin) > 1) pending.set(origin, of(origin) - 1)
      else pending.delete(origin)
    },
  }
}

type ClientDocument = { client_id: string } & Record<string, unknown>

function isDocument(value: unknown, url: string): value is ClientDocument {
  return (
    typeof value === 'object' &&
    value !== null &&
    'client_id' in value &&
    new URL(String(value.client_id)).href === url
  )
}

function documentOf(document: ClientDocument): object {
  // The default is `none`, since a client that publishes a document has no secret.
  const { token_endpoint_auth_method: method = 'none', client_id: id } = document
  return { ...clientMetadata({ ...document, token_endpoint_auth_method: method }), client_id: id }
}
