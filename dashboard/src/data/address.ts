import { bodyOf, GET } from './api.ts'

/** How clients reach the gateway, and what is not right about that. */
export type Address = {
  /** Without a path; programs call below its `/v1`. */
  origin: string
  /** Of the tool server. */
  tools: string
  /** Whether the address of this page is another one. */
  isElsewhere: boolean
  isHttps: boolean
  /** Whether it may be reached from the internet, as far as its name tells. */
  isPublic: boolean
}

/** The address that the gateway itself gives to clients. */
export async function askForAddress(signal?: AbortSignal): Promise<Address> {
  const { resource } = await bodyOf(
    GET('/.well-known/oauth-protected-resource', signal === undefined ? {} : { signal }),
  )
  return addressAt(resource)
}

/** What an address of a tool server says of the way to it. */
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

/** Names and networks of one machine or one house. */
const privateNames =
  /^(?:localhost|[^.]+|.*\.(?:local|localhost|internal|lan|home|test)|127\..*|10\..*|192\.168\..*|172\.(?:1[6-9]|2\d|3[01])\..*|169\.254\..*|\[.*\])$/
