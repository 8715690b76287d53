import type { Answer, Ask } from './ask.ts'
import type { Client } from './clients.ts'
import type { Fault } from './fault.ts'
import type { Target } from './target.ts'

/** What a client knows at a point of its journey. */
export type Known = {
  target: Target
  client: Client
  /** The request that is judged, as the sentences name it. */
  asked: string
  /** Where the challenge said that the metadata is. */
  announced?: URL
  /** The metadata of the resource (RFC 9728) and of who signs people in (RFC 8414). */
  resource?: Metadata
  server?: Metadata
  clientId?: string
  /** The page for signing in, and the cookies that lead to it. */
  page?: { url: URL; cookie: string }
  /** What a registration gave to end it again (RFC 7592). */
  registrationAccess?: { url: URL; token: string }
}

export type Metadata = Readonly<Record<string, unknown>>

/** Looks at an answer; undefined when all is well. */
export type Check = (answer: Answer, known: Known) => Fault | undefined

/** One request of a client, and what it needs of the answer. */
export type Move = {
  /** What works when nothing is wrong. */
  works: string
  /** Undefined when there is nothing to ask, since something before was missing. */
  ask(known: Known): Ask | undefined
  expects: readonly Check[]
  /** What the client knows from a right answer. */
  learn?(answer: Answer, known: Known): void
  /** For the pages of the sign-in. */
  leniency?: { mayRedirect?: boolean; mayBePage?: boolean }
}

/** The object that a body is as JSON, undefined for anything else. */
export function readObject({ body }: Answer): Metadata | undefined {
  try {
    const value: unknown = JSON.parse(body)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Metadata) : undefined
  } catch {
    return undefined
  }
}

/** A member that is an address on the origin that was typed: others are never asked. */
export function ownAddress(value: unknown, { origin }: Target): URL | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null
  return url !== null && url.origin === origin ? url : undefined
}
