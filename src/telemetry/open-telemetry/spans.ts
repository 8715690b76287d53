import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Link,
  type Span,
} from '@opentelemetry/api'
import { shortened } from '../../core/error.ts'
import {
  readTraceContext,
  type TraceContext,
  type RequestTrace,
  type Trace,
  type TracedExchange,
  type Tracing,
} from '../../core/trace.ts'
import { fail, followCall, secondsSince, type Around, type Tools } from './call-span.ts'
import { knownMethods } from '../request-line.ts'
import { attribute, other } from './names.ts'

type Options = Tools & {
  /** Whether the `traceparent` of clients is used. */
  takes: boolean
}

const pathCharactersMax = 500

/** Creates a span for each request, each tool call and each attempt on a provider. */
export function createSpans(options: Options): Tracing {
  const { tracer, instruments, takes } = options
  const arounds = new WeakMap<Trace, Around>()
  const request: Tracing['request'] = (headers) => {
    const parent = takes ? readTraceContext(headers) : undefined
    const startedAt = performance.now()
    const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, contextOf(parent))
    const around = { span, state: parent?.state }
    const call = followCall(options, around)
    const traced: RequestTrace = {
      ...call,
      ended: (exchange) => {
        instruments.requestDuration.record(secondsSince(startedAt), requestLabels(exchange))
        call.end((endTime) => endRequest(span, exchange, endTime))
      },
    }
    arounds.set(traced, around)
    return traced
  }
  const tool: Tracing['tool'] = (name, meta, ofRequest) => {
    const outer = ofRequest && arounds.get(ofRequest)
    const own = takes ? readTraceContext(meta) : undefined
    const span = startTool(options, name, { own, outer: outer?.span })
    const state = own === undefined ? outer?.state : own.state
    const startedAt = performance.now()
    const call = followCall(options, { span, state, operation: toolOperation })
    return {
      ...call,
      ended: (errorCode) => {
        const labels = toolLabels(name, errorCode)
        instruments.toolDuration.record(secondsSince(startedAt), labels)
        call.end((endTime) => endTool(span, errorCode, endTime))
      },
    }
  }
  return { request, tool }
}

const toolOperation = 'execute_tool'
const toolMethod = 'tools/call'
/** The value of `error.type` in the semantic conventions; the gateway's code has another attribute. */
const toolError = 'tool_error'

type Parents = { own: TraceContext | undefined; outer: Span | undefined }

/** Starts a span below the trace context of the MCP message, or else below the span of the request. */
function startTool({ tracer }: Tools, name: string, { own, outer }: Parents): Span {
  const links: Link[] = own && outer ? [{ context: outer.spanContext() }] : []
  const attributes = { ...toolLabels(name), [attribute.operation]: toolOperation }
  const around = own || outer === undefined ? contextOf(own) : trace.setSpan(ROOT_CONTEXT, outer)
  return tracer.startSpan(
    `${toolMethod} ${name}`,
    { kind: SpanKind.SERVER, attributes, links },
    around,
  )
}

function toolLabels(name: string, errorCode?: string): Attributes {
  const labels = { [attribute.mcpMethod]: toolMethod, [attribute.toolName]: name }
  return errorCode === undefined ? labels : { ...labels, [attribute.errorType]: toolError }
}

function endTool(span: Span, errorCode: string | undefined, endTime: number): void {
  if (errorCode !== undefined && span.isRecording()) {
    span.setAttribute(attribute.errorCode, errorCode)
    fail(span, toolError)
  }
  span.end(endTime)
}

function contextOf(parent: TraceContext | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT
  const { traceId, spanId, flags, state } = parent
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: flags,
    isRemote: true,
    ...(state === undefined ? {} : { traceState: createTraceState(state) }),
  })
}

function requestLabels({ method, route, status, left, errorCode }: TracedExchange): Attributes {
  return {
    [attribute.httpMethod]: knownMethods.has(method) ? method : other,
    [attribute.urlScheme]: 'http',
    ...(route === undefined ? {} : { [attribute.httpRoute]: route }),
    // A client that disconnected received no status.
    ...(left ? {} : { [attribute.httpStatus]: status }),
    ...(left || errorCode !== undefined
      ? { [attribute.errorType]: left ? 'cancelled' : errorCode }
      : {}),
  }
}

function endRequest(span: Span, exchange: TracedExchange, endTime: number): void {
  if (span.isRecording()) {
    const { path, route, status, caller, requestId, left } = exchange
    const labels = requestLabels(exchange)
    const method = String(labels[attribute.httpMethod])
    span.updateName(route === undefined ? method : `${method} ${route}`)
    span.setAttributes({
      ...labels,
      [attribute.urlPath]: shortened(path, pathCharactersMax),
      [attribute.requestId]: requestId,
      [attribute.accountId]: caller?.accountId,
      [attribute.keyId]: caller?.keyId,
    })
    // The semantic conventions do not count a 4xx response as an error of the server.
    if (status >= 500 && !left) span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end(endTime)
}
