import type { components } from '../../generated/types.ts'

/** The data of a route that a trace records. */
export type TracedRoute = {
  provider: { id: string; server?: ProviderServer | undefined }
  model: { row: { id: string }; undescribed: boolean }
  upstreamModel: string
}

/** The server of a provider. */
export type ProviderServer = {
  /** The provider name of OpenTelemetry's semantic conventions. */
  name: string
  host: string
  port: number
}

type TracedModality = components['schemas']['CallModality']

/** The kind of answer that a call requests. */
export type TracedWork = { modality: TracedModality; streams: boolean }

/** One try of a route. */
export type TracedTry = {
  /** Headers for the vendor; undefined when traces are not propagated. */
  headers: TraceHeaders | undefined
  /** Called when the try has ended, or its stream has begun. */
  ended(attempt: { outcome: string; status?: number }): void
}

export type TracedAnswer = { id: string; finishReasons: readonly string[] }

/** The data of a call's ledger row that a trace records. */
export type TracedRow = {
  accountId: string
  keyId: string
  mode: string
  face: string
  modality: TracedModality
  model: string
  provider: string | null
  upstreamModel: string | null
  servedModel: string | null
  outcome: string
  errorCode: string | null
  cache: string
  usage: {
    inputTokens: number
    outputTokens: number
    cachedInputTokens?: number
    cacheWriteTokens?: number
    reasoningTokens?: number
    images: number
    estimated: boolean
  }
  costNanoUsd: number | null
  costStatus: string
}

/** The data of a call's ledger row that the log line of its request shows. */
export type LoggedRow = TracedRow & {
  attempts: readonly LoggedAttempt[]
  tags: readonly string[] | undefined
  durationMs: number
}

type LoggedAttempt = { provider: string; outcome: string; startMs: number; durationMs: number }

/** The trace of a call. Only data of these types leaves the gateway: no prompt, answer or key. */
export type Trace = {
  tryBegins(route: TracedRoute, work: TracedWork): TracedTry
  answered?(answer: TracedAnswer): void
  /** Called when the row of the ended call is recorded. */
  recorded?(row: TracedRow): void
}

/** A completed request and its response. */
export type TracedExchange = {
  requestId: string
  method: string
  path: string
  /** The path template of the contract; undefined for other paths. */
  route: string | undefined
  status: number
  caller: { accountId: string; keyId: string } | undefined
  errorCode: string | undefined
  /** Whether the caller disconnected before the answer was complete. */
  left: boolean
}

export type RequestTrace = Trace & { ended?(exchange: TracedExchange): void }

type ToolTrace = Trace & { ended?(errorCode: string | undefined): void }

/** Starts traces of requests and tool calls; undefined for requests and tool calls that are not traced. */
export type Tracing = {
  request(headers: TraceCarrier): RequestTrace | undefined
  /** `around` is the trace of the HTTP request with the tool call. */
  tool(name: string, meta: TraceCarrier, around: Trace | undefined): ToolTrace | undefined
}

/** Trace context from headers or the `_meta` of a message, not validated. */
export type TraceCarrier = {
  readonly traceparent?: unknown
  readonly tracestate?: unknown
  readonly [name: string]: unknown
}

/** A span of a trace, as in W3C Trace Context (https://www.w3.org/TR/trace-context-2/). */
export type TraceContext = {
  traceId: string
  spanId: string
  flags: number
  state: string | undefined
}

/** Trace context headers for a vendor. */
export type TraceHeaders = Readonly<Record<string, string>>

const parentForm =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]*)?$/
const parentCharactersMax = 256
const sampledFlag = 1
const stateCharactersMax = 512
const stateMembersMax = 32
const memberForm =
  /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** Parses the span of a carrier; undefined when it is missing or malformed. */
export function readTraceContext({
  traceparent,
  tracestate,
}: TraceCarrier): TraceContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > parentCharactersMax) return undefined
  const found = parentForm.exec(traceparent)
  if (found === null) return undefined
  const [, version, traceId, spanId, flagsText, more] = found
  const isCurrent = version === '00'
  if (isCurrent && more !== undefined) return undefined
  const flags = parseInt(flagsText!, 16)
  return {
    traceId: traceId!,
    spanId: spanId!,
    // For later versions of traceparent only the sampled flag is defined.
    flags: isCurrent ? flags : flags & sampledFlag,
    state: readState(tracestate),
  }
}

/** The `tracestate` members within the size limit; undefined when empty or malformed. */
function readState(header: unknown): string | undefined {
  if (typeof header !== 'string') return undefined
  const members = header
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '')
  const keys = new Set(members.map((member) => memberForm.exec(member)?.[1]))
  const isMalformed = keys.has(undefined) || keys.size < members.length
  if (isMalformed || members.length === 0 || members.length > stateMembersMax) return undefined
  let state = members[0]!
  for (const member of members.slice(1)) {
    const longer = `${state},${member}`
    if (longer.length > stateCharactersMax) break
    state = longer
  }
  return state.length > stateCharactersMax ? undefined : state
}

/** Formats a span as trace context headers. */
export function traceHeaders({ traceId, spanId, flags, state }: TraceContext): TraceHeaders {
  const traceparent = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`
  return state === undefined ? { traceparent } : { traceparent, tracestate: state }
}
