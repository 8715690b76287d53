import { readFileSync } from 'node:fs'

/** A client as data: its first requests, its registration, and its redirect address. */
export type Client = {
  name: string
  userAgent: string
  /** The requests of the client to the tool server before the sign-in. */
  opening: readonly Opening[]
  /** Where the client looks for resource metadata: the address in the challenge, the path, or the root. */
  looksAt: readonly ('announced' | 'path' | 'root')[]
  registration: Registration
  /** The `redirect_uri`; on loopback its port may differ from the registered port. */
  callback: string
  /** The parameter `scope` of the authorization request; absent if the client sends none. */
  scope?: string
  prompt?: string
  /** Whether the client can use the address of a published metadata document as its `client_id`. */
  hasDocument: boolean
  /** The metadata document, if all installations share one document. */
  document?: { url: string; callback: string }
}

type Opening = 'initialize' | 'discover' | 'stream'

type Registration = {
  client_name: string
  redirect_uris: readonly string[]
  [member: string]: unknown
}

/** The data of clients, observed or read in their source (docs/connect.md#what-each-client-needs). */
export const clients: readonly Client[] = JSON.parse(
  readFileSync(new URL('clients.json', import.meta.url), 'utf8'),
)
