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

/**
 * Fetches what clients publish of themselves, in the manner of `fetch`, as oidc-provider asks for it: the
 * documents with their metadata as it is taken, their keys as they are.
 */
export function createDocumentFetch(fetchPublic: FetchPublic): DocumentFetch {
  return async (address, init) => {
    const url = address instanceof Request ? address.url : new URL(address).href
    // oidc-provider gives each request 2.5 seconds.
    const signal = init?.signal ?? AbortSignal.timeout(2500)
    const text = await fetchPublic(url, { bytesMax, signal })
    const given: unknown = JSON.parse(text)
    return Response.json(isDocument(given, url) ? documentOf(given) : given)
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
