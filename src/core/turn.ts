import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { RouteCassette } from './cassette.ts'
import type { TraceHeaders } from './trace.ts'

/** A task at a vendor, which goes on when this process ends. */
export type VendorTask = {
  /** The place in the answer of the first picture that it makes. */
  index: number
  provider: string
  modelId: string
  upstreamModel: string
  /** The id that the vendor gave it. */
  id: string
  /** The address of its state, if the vendor gave one. */
  address?: string
  /** The charge that the vendor reported when it began. */
  costNanoUsd?: number
}

/** The tasks of a job, for vendors that make pictures as tasks. */
export type VendorTasks = {
  /** The tasks of a process that has ended. Pictures without a task may have been requested, and are not requested again. */
  begun?: readonly VendorTask[] | undefined
  /** Stores a task; resolves when it is durable. Never rejects. */
  add(task: VendorTask): Promise<void>
}

/** The part of a call that its requests to a vendor need; made for each try of a route. */
export type Turn = {
  signal: AbortSignal
  /** The memory that the call has reserved. */
  memory: MemoryHold
  /** The idempotency key of this try, for vendors that accept one; a try may make several requests. */
  idempotencyKey?: string | undefined
  /** Trace context headers for the vendor. */
  traceHeaders?: TraceHeaders | undefined
  /** Records the answers of the vendor, or replays them. */
  cassette?: RouteCassette | undefined
  /** What the sandbox plays besides the scenarios in the prompt. */
  played?: string | undefined
  /** Present if the pictures should be made as tasks, where the vendor can. */
  tasks?: VendorTasks | undefined
}
