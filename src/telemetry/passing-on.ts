import {
  readTraceContext,
  traceHeaders,
  type TraceCarrier,
  type Trace,
  type TracedTry,
  type Tracing,
} from '../core/trace.ts'

/** Passes the traces of callers on to vendors as they are, and tells of nothing else. */
export const passingOn: Tracing = {
  request: passedOn,
  tool: (_name, meta, around) => passedOn(meta) ?? around,
}

function passedOn(carrier: TraceCarrier): Trace | undefined {
  // Of most requests this is all.
  if (carrier.traceparent === undefined) return undefined
  const context = readTraceContext(carrier)
  if (context === undefined) return undefined
  const traced: TracedTry = { headers: traceHeaders(context), ended: () => undefined }
  return { tryBegins: () => traced }
}
