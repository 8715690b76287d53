import { plainLine } from '../../core/error.ts'

const nameLengthMax = 60

type AskingClient = {
  /** The name that the client chose; not verified. */
  name: string | undefined
  /** The host of the client's document; undefined for a registered client. */
  publishedBy: string | undefined
}

/** The description of a client that the person sees. */
export type ClientText = ReturnType<typeof clientText>

/**
 * Describes a client: its name on one line without invisible and direction characters, and the host
 * that receives the answer in ASCII form, so that letters of other alphabets cannot imitate another host.
 */
export function clientText({ name, publishedBy }: AskingClient, redirectUri: string) {
  const { host, place } = placeOf(redirectUri)
  const own = plainName(name ?? '')
  // A sentence about the source of the name.
  const proof =
    publishedBy === undefined
      ? 'The application chose this name. It is not verified.'
      : `The name comes from ${publishedBy}. It is not verified further.`
  return { name: own === '' ? host : own, place, proof }
}

function plainName(name: string): string {
  // Many combining marks on one letter would overlap the lines above and below.
  const flat = name.slice(0, 20 * nameLengthMax).replaceAll(/(\p{M}{3})\p{M}+/gu, '$1')
  return plainLine(flat, nameLengthMax)
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Whether a redirect address is on the loopback interface of the person's machine. */
export function isLoopback(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri)
  return protocol === 'http:' && loopback.test(hostname)
}

/** The host of a redirect address, or its scheme, such as `cursor:`, for a private scheme. */
export function redirectHostOf(redirectUri: string): string {
  const { protocol, hostname } = new URL(redirectUri)
  return protocol === 'https:' || protocol === 'http:' ? hostname : protocol
}

/** The application or host that receives the answer. */
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
