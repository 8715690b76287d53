import type { Caller } from './caller.ts'

/** What is known of an exchange when it is over. */
export type Exchange = {
  requestId: string
  method: string
  path: string
  status: number
  durationMs: number
  caller: Caller | undefined
  /** What was thrown, when something was. */
  error: unknown
  /** The other side left before the answer was whole. */
  left: boolean
}
