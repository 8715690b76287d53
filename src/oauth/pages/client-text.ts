import { plainLine } from '../../core/words/shorten.ts'

const nameLengthMax = 60

type AskingClient = {
  /** Not checked. */
  name: string | undefined
  /** The host of the client's document; undefined for a registered client. */
  publishedBy: string | undefined
}

/** The description of a client that the person sees. */
export type ClientText = {
  name: string
  /** The receiver of the answer. */
  place: string
  /** The source of the name. */
  proof: string
}

/**
 * The words for a client: its name in one line without signs that hide or turn text, and the host
 * that gets the answer as browsers write it, so that another alphabet cannot imitate one.
 */
export function clientText({ name, publishedBy }: AskingClient, redirectUri: string): ClientText {
  const { host, place } = placeOf(redirectUri)
  const own = plainName(name ?? '')
  const proof =
    publishedBy === undefined
      ? 'The name is what the application says of itself. Nobody has checked it.'
      : `The name is what ${publishedBy} says of the application. Nobody else has checked it.`
  return { name: own === '' ? host : own, place, proof }
}

function plainName(name: string): string {
  // More than a few marks on one letter reach into the lines above and below.
  const flat = name.slice(0, 20 * nameLengthMax).replaceAll(/(\p{M}{3})\p{M}+/gu, '$1')
  return plainLine(flat, nameLengthMax)
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Whether a redirect address is that of a program on this machine, which listens there. */
export function isLoopback(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri)
  return protocol === 'http:' && loopback.test(hostname)
}

/** The host of a redirect address; of an application on the device its scheme, as `cursor:`. */
export function redirectHostOf(redirectUri: string): string {
  const { protocol, hostname } = new URL(redirectUri)
  return protocol === 'https:' || protocol === 'http:' ? hostname : protocol
}

function placeOf(redirectUri: string): { host: string; place: string } {
  const { protocol, hostname, host } = new URL(redirectUri)
  if (protocol === 'https:' || protocol === 'http:') {
    return loopback.test(hostname)
      ? { host: 'An application', place: 'an application on this computer' }
      : { host, place: host }
  }
  const scheme = protocol.slice(0, -1)
  return { host: scheme, place: `the application on this device that opens ${scheme}: links` }
}
