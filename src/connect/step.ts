import type { Answer, Ask } from './ask.ts'
import type { Client } from './clients.ts'
import type { Fault } from './fault.ts'
import type { Target } from './target.ts'

/** The state of a client between its steps. */
export type ClientState = {
  target: Target
  client: Client
  /** The checked request as faults name it, such as `POST /mcp`. */
  request: string
  /** The address of the metadata in the challenge. */
  announced?: URL
  /** The metadata of the resource (RFC 9728) and of the authorization server (RFC 8414). */
  resource?: Metadata
  server?: Metadata
  clientId?: string
  /** The sign-in page, and the cookies that the page needs. */
  page?: { url: URL; cookie: string }
  /** The address and token that delete the registration (RFC 7592). */
  registrationAccess?: { url: URL; token: string }
}

export type Metadata = Readonly<Record<string, unknown>>

export type Check = (answer: Answer, state: ClientState) => Fault | undefined

/** A request of a client and the checks of its answer. */
export type Step = {
  /** What works, reported if all checks pass. */
  works: string
  /** Returns the request; undefined to skip the step if an earlier answer lacked a required member. */
  ask(state: ClientState): Ask | undefined
  expects: readonly Check[]
  /** Stores members of the answer that later steps need. */
  learn?(answer: Answer, state: ClientState): void
  /** Answers that are allowed at pages of the sign-in. */
  leniency?: { mayRedirect?: boolean; mayBePage?: boolean }
}

/** The JSON object in the body; undefined for any other body. */
export function readObject({ body }: Answer): Metadata | undefined {
  try {
    const value: unknown = JSON.parse(body)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Metadata) : undefined
  } catch {
    return undefined
  }
}

/** An address on the checked origin; undefined for any other address, which is never requested. */
export function ownAddress(value: unknown, { origin }: Target): URL | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null
  return url !== null && url.origin === origin ? url : undefined
}
