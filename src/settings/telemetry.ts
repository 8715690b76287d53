import type { components } from '../../generated/settings.ts'
import type { NameOf } from './sources.ts'

type Settings = components['schemas']['Settings']

/** Reads the settings of traces and metrics, which `complaintsAboutTelemetry` must have validated. */
export function telemetryConfig({
  otlp_endpoint: endpoint,
  resource_attributes: attributes,
}: Settings) {
  return {
    otlpEndpoint: endpoint?.replace(/\/+$/, ''),
    resourceAttributes: attributes === undefined ? {} : (readPairs(attributes) ?? {}),
  }
}

/** The headers for the collector, which may contain its key. */
export function collectorHeaders({
  otlp_headers: given,
}: Settings): Record<string, string> | undefined {
  return given === undefined ? undefined : readPairs(given)
}

/** Errors of the settings of traces and metrics; they do not quote headers. */
export function complaintsAboutTelemetry(
  merged: Record<string, unknown>,
  nameOf: NameOf,
): string[] {
  const { otlp_endpoint: endpoint, otlp_headers: headers, resource_attributes: attributes } = merged
  return [
    ...(typeof endpoint === 'string'
      ? complaintsAboutEndpoint(endpoint, nameOf('otlp_endpoint'))
      : []),
    ...(typeof headers === 'string' && !areHeaders(headers)
      ? [`${nameOf('otlp_headers')} ${pairsText}`]
      : []),
    ...(typeof attributes === 'string' && readPairs(attributes) === undefined
      ? [`${nameOf('resource_attributes')} ${pairsText}`]
      : []),
  ]
}

const pairsText = 'must be written as name=value,name=value, percent-encoded.'

/** The endpoint is printed, so it must not contain credentials. */
function complaintsAboutEndpoint(endpoint: string, name: string): string[] {
  const url = URL.parse(endpoint)
  if (url === null) return [`${name} must be an address. For example: http://localhost:4318`]
  if (url.username !== '' || url.password !== '') {
    return [`${name} must not contain credentials. Set them in OTEL_EXPORTER_OTLP_HEADERS.`]
  }
  if (url.search === '' && url.hash === '') return []
  return [
    `${name} must be an address without a query: /v1/traces and /v1/metrics are appended to it.`,
  ]
}

/** Header names and values that Node accepts (RFC 9110 section 5). */
const headerName = /^[\w!#$%&'*+.^`|~-]+$/
const headerValue = /^[\t\x20-\x7e]*$/

function areHeaders(text: string): boolean {
  const pairs = readPairs(text)
  if (pairs === undefined) return false
  return Object.entries(pairs).every(
    ([name, value]) => headerName.test(name) && headerValue.test(value),
  )
}

/** Parses name=value pairs in the format of W3C Baggage; undefined if malformed. */
function readPairs(text: string): Record<string, string> | undefined {
  const pairs: Record<string, string> = Object.create(null)
  for (const piece of text.split(',')) {
    if (piece.trim() === '') continue
    const at = piece.indexOf('=')
    if (at <= 0) return undefined
    try {
      pairs[decodeURIComponent(piece.slice(0, at).trim())] = decodeURIComponent(
        piece.slice(at + 1).trim(),
      )
    } catch {
      return undefined
    }
  }
  return { ...pairs }
}
