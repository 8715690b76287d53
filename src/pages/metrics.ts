import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../core/error.ts'
import { timingSafeEqualText } from '../bytes/timing-safe-equal.ts'
import type { Answer } from '../http/answer.ts'

export type ReadMetrics = () => Promise<{ contentType: string; text: string }>
type Options = { readMetrics: ReadMetrics; metricsToken: () => string | undefined }

/** The metrics, for the token, or for loopback if none is set. Rejects with a 401 otherwise. */
export async function metricsPage(
  request: IncomingMessage,
  { readMetrics, metricsToken }: Options,
): Promise<Answer> {
  const token = metricsToken()
  if (token === undefined ? !isLoopback(request) : !hasToken(request, token)) {
    throw new GatewayError(
      'invalid_api_key',
      'Metrics are served only to this machine, or with METRICS_TOKEN as the bearer token.',
    )
  }
  const { contentType, text } = await readMetrics()
  const headers = {
    'content-type': contentType,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  }
  return { status: 200, headers, pieces: [text] }
}

/** Pause after a reading, as a multiple of the reading's duration. */
const restFactor = 4
const restMsMax = 500

type Time = { now: () => number; sleep: (delayMs: number) => Promise<unknown> }

/**
 * Shares a reading among all requests that arrive before it begins. A reading takes milliseconds of the
 * event loop, so the next reading waits in proportion to its duration. The result is never older than
 * the request.
 */
export function shareReadings(
  read: ReadMetrics,
  { now, sleep: rest }: Time = { now: () => performance.now(), sleep },
): ReadMetrics {
  let next: Promise<Awaited<ReturnType<ReadMetrics>>> | undefined
  let running: Promise<unknown> = Promise.resolve()
  let restUntil = 0
  const timed = async () => {
    const startedAt = now()
    try {
      return await read()
    } finally {
      const endedAt = now()
      restUntil = endedAt + Math.min(restFactor * (endedAt - startedAt), restMsMax)
    }
  }
  const readNext = async () => {
    await running
    await rest(Math.max(0, restUntil - now()))
    next = undefined
    const reading = timed()
    running = reading.catch(() => undefined)
    return reading
  }
  return () => (next ??= readNext())
}

/** Headers by which proxies report the client or the route of a request. */
const forwarding =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-original-.*|x-envoy-.*|x-real-ip|cf-.*|cdn-loop|true-client-ip|fastly-client-ip|fly-client-ip|client-ip|x-client-ip|x-cluster-client-ip|x-appengine-user-ip|x-azure-.*)$/

/** The loopback names. Any other host name may come from a web page (DNS rebinding). */
const loopbackName = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/** Whether a program on this machine, other than a proxy, sends the request. */
function isLoopback({ socket, headers }: IncomingMessage): boolean {
  const address = socket.remoteAddress ?? ''
  if (address !== '::1' && !/^(::ffff:)?127\./.test(address)) return false
  if (Object.keys(headers).some((name) => forwarding.test(name))) return false
  return loopbackName.test(headers.host ?? '')
}

function hasToken({ headers }: IncomingMessage, token: string): boolean {
  return timingSafeEqualText(headers.authorization ?? '', `Bearer ${token}`)
}
