import type { TraceCarrier, TraceHeaders } from './trace-context.ts'

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
export type ToolTrace = Trace & { ended?(errorCode: string | undefined): void }

/** Follows requests and the calls of tools; undefined for those that nobody follows. */
export type Tracing = {
  request(headers: TraceCarrier): RequestTrace | undefined
  /** `around` is the trace of the request that the call came with. */
  tool(name: string, meta: TraceCarrier, around: Trace | undefined): ToolTrace | undefined
}
