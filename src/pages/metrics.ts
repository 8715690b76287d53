import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../core/error.ts'
import type { Answer } from '../http/answer.ts'

/** Gives the metrics as text, with its content type. */
export type ReadMetrics = () => Promise<{ contentType: string; text: string }>
type Options = { readMetrics: ReadMetrics; metricsToken: string | undefined }

/** The metrics, for requests with the token, or from loopback if none is set; else throws 401. */
export async function metricsPage(
  request: IncomingMessage,
  { readMetrics, metricsToken }: Options,
): Promise<Answer> {
  if (metricsToken === undefined ? !isLoopback(request) : !hasToken(request, metricsToken)) {
    throw new GatewayError(
      'invalid_api_key',
      'Metrics are for this machine alone, or for the bearer of METRICS_TOKEN.',
    )
  }
  const { contentType, text } = await readMetrics()
  return { status: 200, headers: { 'content-type': contentType }, pieces: [text] }
}

function isLoopback({ socket, headers }: IncomingMessage): boolean {
  const address = socket.remoteAddress ?? ''
  // Behind a local proxy every client has a loopback address.
  if (headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined) return false
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}

function hasToken({ headers }: IncomingMessage, token: string): boolean {
  const given = Buffer.from(headers.authorization ?? '')
  const wanted = Buffer.from(`Bearer ${token}`)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}
