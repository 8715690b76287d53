import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { TraceHeaders } from './trace.ts'

/** The part of a call that its requests to a vendor need; made for each try of a route. */
export type Turn = {
  signal: AbortSignal
  /** The memory that the call has reserved. */
  memory: MemoryHold
  /** The idempotency key of this try, for vendors that accept one; a try may make several requests. */
  idempotencyKey?: string | undefined
  /** Trace context headers for the vendor. */
  traceHeaders?: TraceHeaders | undefined
}
