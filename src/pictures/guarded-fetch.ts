import {
  lookup as systemLookup,
  type LookupAddress,
  type LookupAllOptions,
  type LookupOptions,
} from 'node:dns'
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import { GatewayError } from '../core/error.ts'
import { ProviderFailure } from '../core/failure.ts'
import { holds, networksOf, plainAddress } from '../core/networks.ts'
import { Agent, buildConnector, request as send } from 'undici'
import { productHeaders } from '../core/product.ts'
import { isPublicAddress } from '../core/public-address.ts'
import { retryAfterSeconds } from '../core/retry-after.ts'

/** Why an address was not fetched; the message may be shown to the caller. */
export class FetchRefusal extends Error {
  override name = 'FetchRefusal'
  readonly reason: 'address' | 'size' | 'unreachable'

  constructor(reason: FetchRefusal['reason'], message: string, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}

type Lookup = (
  host: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void
/** For tests: name resolution, public addresses, port, trusted CA and timeouts. */
export type PublicNet = {
  lookup?: Lookup
  isPublic?: (address: string) => boolean
  port?: number
  ca?: string
  connectTimeoutMs?: number
  idleTimeoutMs?: number
  totalTimeoutMs?: number
}
type FetchOptions = PublicNet & {
  redirectsMax: number
  connectionsMax: number
}

/** The default timeout of a connection: the caller waits, so a slower host counts as unreachable. */
const connectStandardMs = 3000
const idleStandardMs = 5000
/** The default timeout of a fetch: enough for the largest picture over a slow connection. */
const totalStandardMs = 30_000

/** Receives the bytes in pieces as they arrive. */
type ByteSink = { push(piece: Buffer): unknown }
type PostRequest = {
  headers: Readonly<Record<string, string>>
  body: string
  timeoutMs: number
  signal: AbortSignal
}
type Posted = { status: number; retryAfterSeconds: number | undefined } | { error: string }
type FetchLimits = { bytesMax: number; signal: AbortSignal; accept?: string }

export type GuardedFetch = ReturnType<typeof createGuardedFetch>

export function createGuardedFetch(options: FetchOptions) {
  const agent = guardedAgent(options)
  const port = options.port ?? 443
  return {
    /**
     * Fetches an untrusted HTTPS address, up to `bytesMax` bytes. Throws a FetchRefusal. Addresses
     * are checked at each connection, so that no spelling, redirect or DNS rebinding reaches a
     * private network (docs/behaviour.md#promises, promise 5). `accept` is the Accept header,
     * `image/*` by default.
     */
    fetch: async (
      address: string,
      { bytesMax, signal, accept = 'image/*' }: FetchLimits,
      sink: ByteSink,
    ): Promise<void> => {
      const ends = AbortSignal.any([
        signal,
        AbortSignal.timeout(options.totalTimeoutMs ?? totalStandardMs),
      ])
      let url = readAddress(address, port)
      for (let redirects = 0; redirects <= options.redirectsMax; redirects++) {
        const next = await fetchOnce(agent, url, { bytesMax, signal: ends, accept }, sink)
        if (next === undefined) return
        url = readAddress(next, port, url)
      }
      throw new FetchRefusal('unreachable', 'The address redirects too often.')
    },
    /**
     * Posts to an untrusted HTTPS address, as safely as `fetch`, and without following redirects. Resolves with the
     * status, or with a sentence on why there is none; the body of the answer is not read. Never rejects.
     */
    post: async (
      address: string,
      { headers, body, timeoutMs, signal }: PostRequest,
    ): Promise<Posted> => {
      const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      try {
        const answer = await send(readAddress(address, port), {
          dispatcher: agent,
          method: 'POST',
          headers: { ...productHeaders, ...headers },
          body,
          signal: ends,
          headersTimeout: timeoutMs,
          // The next request resolves the name again, and meets no connection that the host has closed.
          reset: true,
        })
        drop(answer.body)
        return { status: answer.statusCode, retryAfterSeconds: retryAfterSeconds(answer) }
      } catch (error) {
        return { error: postFailure(error, timeoutMs) }
      }
    },
    /** A sentence on why an address will not be fetched now; undefined if it may be. Never rejects. */
    refusalOf: async (address: string): Promise<string | undefined> => {
      try {
        const host = unbracketed(readAddress(address, port).hostname)
        await assertPublic(host, options)
        return undefined
      } catch (error) {
        return error instanceof FetchRefusal ? error.message : 'The host name cannot be resolved.'
      }
    },
    close: () => agent.destroy(),
  }
}

function postFailure(error: unknown, timeoutMs: number): string {
  const { name, cause, code } = error as NodeJS.ErrnoException
  const refusal = error instanceof FetchRefusal ? error : cause
  if (refusal instanceof FetchRefusal) return refusal.message
  if (name === 'TimeoutError' || name === 'HeadersTimeoutError')
    return `The receiver did not answer within ${timeoutMs / 1000} seconds.`
  return `The receiver cannot be reached${code === undefined ? '' : ` (${code})`}.`
}

function readAddress(address: string, port: number, base?: URL): URL {
  const url = URL.parse(address, base?.href)
  if (url?.protocol !== 'https:') throw refused('Only https addresses are fetched.')
  if (url.username !== '' || url.password !== '')
    throw refused('The address contains a user name or password.')
  if (Number(url.port || 443) !== port) throw refused('Only port 443 is allowed.')
  return url
}

/** Fetches without following a redirect: returns its address, or undefined when the body was delivered. */
async function fetchOnce(
  agent: Agent,
  url: URL,
  { bytesMax, signal, accept }: Required<FetchLimits>,
  sink: ByteSink,
): Promise<string | undefined> {
  try {
    const headers = { ...productHeaders, accept, 'accept-encoding': 'identity' }
    const answer = await send(url, { dispatcher: agent, headers, signal })
    const { statusCode, body } = answer
    const { location, 'content-length': length = 0 } = answer.headers
    if (statusCode !== 200 || Number(length) > bytesMax) {
      drop(body)
      if (statusCode === 200) throw tooMany(bytesMax)
      if (statusCode >= 300 && statusCode < 400 && typeof location === 'string') return location
      throw new FetchRefusal('unreachable', `The address answers ${statusCode}.`)
    }
    let bytes = 0
    // Content-Length may be false, so bytes are counted. Without an encoding pieces are Buffers.
    for await (const piece of body as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > bytesMax) throw tooMany(bytesMax)
      await sink.push(piece)
    }
    return undefined
  } catch (error) {
    if (error instanceof FetchRefusal || error instanceof GatewayError) throw error
    // The sink throws a ProviderFailure when memory runs out.
    if (error instanceof ProviderFailure) throw error
    // A refusal in `connect` or `lookup` arrives as the cause of a failed connection.
    if (error instanceof Error && error.cause instanceof FetchRefusal) throw error.cause
    throw new FetchRefusal('unreachable', 'The address cannot be fetched.', error)
  }
}

/** Discards a body; without a listener the `error` of an incomplete body would be uncaught. */
function drop(body: Readable): void {
  body.once('error', () => undefined)
  body.destroy()
}

function guardedAgent(options: FetchOptions): Agent {
  const { idleTimeoutMs = idleStandardMs, connectTimeoutMs = connectStandardMs } = options
  return new Agent({
    connections: options.connectionsMax,
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
    connect: guardedConnector({ ...options, connectTimeoutMs }),
  })
}

type ConnectorOptions = Pick<PublicNet, 'lookup' | 'isPublic' | 'ca'> & { connectTimeoutMs: number }

/**
 * Opens connections only to addresses for which `isPublic` is true. Each connection is checked, so that
 * neither the spelling of an address nor DNS rebinding reaches another network.
 */
function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { isPublic = isPublicAddress, ca, connectTimeoutMs } = options
  const lookUp = guardedLookup(options)
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    ...(ca === undefined ? {} : { ca }),
    lookup: (host, lookupOptions, callback) => {
      lookUp(host, lookupOptions, (error, addresses) => {
        if (error !== null) return callback(error, [])
        if (lookupOptions.all === true) return callback(null, addresses)
        return callback(null, addresses[0]!.address, addresses[0]!.family)
      })
    },
  })
  return (target, callback) => {
    const host = unbracketed(target.hostname)
    // `lookup` is not called for a literal address.
    if (isIP(host) !== 0 && !isPublic(host)) return callback(notPublic(), null)
    return connect(target, callback)
  }
}

/** Resolves a name to all its addresses, or to a FetchRefusal if one of them is not public. */
function guardedLookup({
  lookup = systemLookup,
  isPublic = isPublicAddress,
}: Pick<PublicNet, 'lookup' | 'isPublic'>) {
  return (host: string, options: LookupOptions, callback: Parameters<Lookup>[2]): void => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      const inside = addresses.length === 0 || !addresses.every((one) => isPublic(one.address))
      if (inside)
        return callback(refused('The host name resolves to an address that is not public.'), [])
      return callback(null, addresses)
    })
  }
}

/** Resolves a host as a connection would. Rejects with a FetchRefusal, or an error of the look-up. */
function assertPublic(host: string, options: PublicNet): Promise<void> {
  const { isPublic = isPublicAddress, connectTimeoutMs = connectStandardMs } = options
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  if (isIP(host) !== 0 && !isPublic(host)) reject(notPublic())
  else if (isIP(host) !== 0) resolve()
  else guardedLookup(options)(host, {}, (error) => (error === null ? resolve() : reject(error)))
  const timer = setTimeout(reject, connectTimeoutMs, new Error('look-up timed out'))
  return promise.finally(() => clearTimeout(timer))
}

function unbracketed(hostname: string): string {
  return hostname.replaceAll(/^\[|\]$/g, '')
}

/** A guarded connector that also opens connections to the networks (CIDR) that `networks` returns. */
export function endpointConnector(
  options: ConnectorOptions,
  networks: () => readonly string[],
): buildConnector.connector {
  const { isPublic = isPublicAddress } = options
  const isAllowed = (address: string): boolean =>
    isPublic(address) || holds(networksOf(networks()), plainAddress(address) ?? address)
  return guardedConnector({ ...options, isPublic: isAllowed })
}

function tooMany(bytesMax: number): FetchRefusal {
  return new FetchRefusal('size', `The file has more than ${bytesMax} bytes.`)
}

function notPublic(): FetchRefusal {
  return refused('The address is not public.')
}

function refused(message: string): FetchRefusal {
  return new FetchRefusal('address', message)
}
