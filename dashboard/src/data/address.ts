import { bodyOf, GET } from './api.ts'

/** The gateway's address for clients, and facts from which the page derives warnings. */
export type Address = {
  /** The origin alone; API clients append `/v1`. */
  origin: string
  /** URL of the MCP server. */
  tools: string
  /** Whether the origin differs from the origin of this page. */
  isElsewhere: boolean
  isHttps: boolean
  /** Whether the host looks reachable from the internet, judged by its name alone. */
  isPublic: boolean
}

/** Asks the gateway for the address that clients must use. Throws a Refusal. */
export async function askForAddress(signal?: AbortSignal): Promise<Address> {
  const { resource } = await bodyOf(
    GET('/.well-known/oauth-protected-resource', signal === undefined ? {} : { signal }),
  )
  return addressAt(resource)
}

/** Splits the URL of the MCP server into the facts above. */
export function addressAt(resource: string): Address {
  const { origin, protocol, hostname } = new URL(resource)
  return {
    origin,
    tools: resource,
    isElsewhere: origin !== location.origin,
    isHttps: protocol === 'https:',
    isPublic: !privateNames.test(hostname),
  }
}

/** Host names and networks that are reachable only from one machine or one local network. */
const privateNames =
  /^(?:localhost|[^.]+|.*\.(?:local|localhost|internal|lan|home|test)|127\..*|10\..*|192\.168\..*|172\.(?:1[6-9]|2\d|3[01])\..*|169\.254\..*|\[.*\])$/
