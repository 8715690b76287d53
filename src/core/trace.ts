/** A route, as far as a trace is told of it. */
export type TracedRoute = {
  provider: { id: string; peer?: Peer | undefined }
  model: { row: { id: string }; undescribed: boolean }
  upstreamModel: string
}

/** Who is behind a provider, and where. */
export type Peer = {
  /** By the semantic conventions of OpenTelemetry. */
  name: string
  host: string
  port: number
}

/** How a call asks for its answer. */
export type TracedWork = { modality: 'chat' | 'image'; streams: boolean }

/** One try of a route. */
export type TracedTry = {
  /** What the vendor is told; undefined where traces are not passed on. */
  headers: TraceHeaders | undefined
  /** It is over, or its stream has begun. */
  ended(attempt: { outcome: string; status?: number }): void
}

/** An answer, as far as a trace is told of it. */
export type TracedAnswer = { id: string; finishReasons: readonly string[] }

/** The ledger's row of a call, as far as a trace is told of it. */
export type TracedRow = {
  accountId: string
  keyId: string
  mode: string
  face: string
  modality: 'chat' | 'image'
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

/**
 * Follows a call. Its types are what leaves the gateway with a trace: no prompt, answer or key can
 * be in them.
 */
export type Trace = {
  tryBegins(route: TracedRoute, work: TracedWork): TracedTry
  answered?(answer: TracedAnswer): void
  /** The call is over. */
  recorded?(row: TracedRow): void
}

/** A request and its answer, when it is over. */
export type TracedExchange = {
  requestId: string
  method: string
  path: string
  /** The path as the contract has it, with the names of its parameters; undefined outside of it. */
  route: string | undefined
  status: number
  caller: { accountId: string; keyId: string } | undefined
  errorCode: string | undefined
  /** Its caller left before the answer was complete. */
  left: boolean
}

/** Follows a request. */
export type RequestTrace = Trace & { ended?(exchange: TracedExchange): void }

/** Follows a call of a tool. */
type ToolTrace = Trace & { ended?(errorCode: string | undefined): void }

/** Follows requests and the calls of tools; undefined for those that nobody follows. */
export type Tracing = {
  request(headers: TraceCarrier): RequestTrace | undefined
  /** `around` is the trace of the request that the call came with. */
  tool(name: string, meta: TraceCarrier, around: Trace | undefined): ToolTrace | undefined
}

/** Where headers, or the `_meta` of a message, name a trace; nothing of it is checked yet. */
export type TraceCarrier = {
  readonly traceparent?: unknown
  readonly tracestate?: unknown
  readonly [name: string]: unknown
}

/** A span of somebody's trace, by W3C Trace Context (https://www.w3.org/TR/trace-context-2/). */
export type TraceContext = {
  traceId: string
  spanId: string
  flags: number
  state: string | undefined
}

/** The headers that name a span to a vendor. */
export type TraceHeaders = Readonly<Record<string, string>>

const parentForm =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]*)?$/
const parentCharactersMax = 256
const sampledFlag = 1
const stateCharactersMax = 512
const stateMembersMax = 32
const memberForm =
  /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** The span that a carrier names; undefined where it names none, or in another form. */
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
    // Of a later version nothing else is known to mean the same.
    flags: isCurrent ? flags : flags & sampledFlag,
    state: readState(tracestate),
  }
}

/** The members that fit; undefined for none, and for a list that is malformed anywhere. */
function readState(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined
  const members = given
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

/** The headers that name a span. */
export function traceHeaders({ traceId, spanId, flags, state }: TraceContext): TraceHeaders {
  const traceparent = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`
  return state === undefined ? { traceparent } : { traceparent, tracestate: state }
}
