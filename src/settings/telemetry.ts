import type { components } from '../../generated/settings.ts'

type Settings = components['schemas']['Settings']

/** Where traces and metrics go, without what is secret about it. */
export type TelemetryConfig = {
  readonly traceContext: NonNullable<Settings['trace_context']>
  /** Undefined where nothing of OpenTelemetry is loaded. */
  readonly otlpEndpoint: string | undefined
  readonly otlpProtocol: NonNullable<Settings['otlp_protocol']>
  readonly otlpTimeoutMs: number
  readonly serviceName: string
  readonly resourceAttributes: Readonly<Record<string, string>>
  readonly tracesSampler: NonNullable<Settings['traces_sampler']>
  readonly tracesSamplerArg: number
  readonly metricExportIntervalMs: number
  readonly otelSdkDisabled: boolean
}

/** The settings of traces and metrics; to be called when `complaintsAboutTelemetry` has none. */
export function telemetryConfig(checked: Settings): TelemetryConfig {
  const { resource_attributes: attributes } = checked
  return {
    traceContext: checked.trace_context,
    otlpEndpoint: checked.otlp_endpoint?.replace(/\/+$/, ''),
    otlpProtocol: checked.otlp_protocol,
    otlpTimeoutMs: checked.otlp_timeout_ms,
    serviceName: checked.service_name,
    resourceAttributes: attributes === undefined ? {} : (readPairs(attributes) ?? {}),
    tracesSampler: checked.traces_sampler,
    tracesSamplerArg: checked.traces_sampler_arg,
    metricExportIntervalMs: checked.metric_export_interval_ms,
    otelSdkDisabled: checked.otel_sdk_disabled,
  }
}

/** The headers for the collector, which hold its key. */
export function collectorHeaders({
  otlp_headers: given,
}: Settings): Record<string, string> | undefined {
  return given === undefined ? undefined : readPairs(given)
}

/** What is wrong about the settings of traces and metrics; no sentence quotes a header. */
export function complaintsAboutTelemetry(merged: Record<string, unknown>): string[] {
  const { otlp_endpoint: endpoint, otlp_headers: headers, resource_attributes: attributes } = merged
  return [
    ...(typeof endpoint === 'string' ? complaintsAboutEndpoint(endpoint) : []),
    ...(typeof headers === 'string' && !areHeaders(headers)
      ? ['OTEL_EXPORTER_OTLP_HEADERS must be written as name=value,name=value, percent-encoded.']
      : []),
    ...(typeof attributes === 'string' && readPairs(attributes) === undefined
      ? ['OTEL_RESOURCE_ATTRIBUTES must be written as name=value,name=value, percent-encoded.']
      : []),
  ]
}

/** It is printed, so that it must not contain credentials. */
function complaintsAboutEndpoint(endpoint: string): string[] {
  const url = URL.parse(endpoint)
  const name = 'OTEL_EXPORTER_OTLP_ENDPOINT'
  if (url === null) return [`${name} is not an address such as http://localhost:4318.`]
  if (url.username !== '' || url.password !== '') {
    return [`${name} holds credentials. Put them in OTEL_EXPORTER_OTLP_HEADERS.`]
  }
  if (url.search === '' && url.hash === '') return []
  return [`${name} must be an address without a query: /v1/traces and /v1/metrics are added to it.`]
}

/** What Node takes as a header (RFC 9110 section 5). */
const headerName = /^[\w!#$%&'*+.^`|~-]+$/
const headerValue = /^[\t\x20-\x7e]*$/

function areHeaders(text: string): boolean {
  const pairs = readPairs(text)
  if (pairs === undefined) return false
  return Object.entries(pairs).every(
    ([name, value]) => headerName.test(name) && headerValue.test(value),
  )
}

/** Names and values as the W3C Baggage writes them; undefined where that is not the form. */
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
