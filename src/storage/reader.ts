import type { Kysely } from 'kysely'
import { GatewayError } from '../core/error.ts'
import { StoreError } from './store-error.ts'
import type { Tables } from './tables.ts'

/** Maximum of waiting reports: reports run one at a time, and more would outlast their callers' timeouts. */
export const reportsWaitingMax = 32

/** A read-only connection for reports, separate from the connections that write (docs/storage.md#reports). */
export type Reader = {
  db: Kysely<Tables>
  /**
   * Begins a report of an account; call the returned function at its end. Throws `overloaded` if too
   * many reports wait, or if the account has too many of them.
   */
  begin(accountId: string): () => void
  close(): Promise<void>
}

export type TurnLimits = {
  waitingMax: number
  /** Maximum of reports in progress of one account. */
  perAccountMax: number
}

/** Implements `begin` of a reader; `waiting` returns the number of queries that wait now. */
export function createTurns(
  { waitingMax, perAccountMax }: TurnLimits,
  waiting: () => number,
): Reader['begin'] {
  const underWay = new Map<string, number>()
  return (accountId) => {
    const own = underWay.get(accountId) ?? 0
    if (own >= perAccountMax)
      throw busy(
        `${own} reports and exports of this account are in progress. Wait until one has ended.`,
      )
    if (waiting() >= waitingMax)
      throw busy('Too many reports are in progress. Try again in a moment.')
    underWay.set(accountId, own + 1)
    return () => {
      const left = underWay.get(accountId)! - 1
      if (left === 0) underWay.delete(accountId)
      else underWay.set(accountId, left)
    }
  }
}

/** Converts timeouts and an unavailable reader to GatewayErrors; returns other errors unchanged. */
export function readingFailure(cause: unknown, timeoutMs: number): unknown {
  if (!(cause instanceof StoreError) || cause.concernsStatement) return cause
  if (cause.isLate) {
    const text = `The report took longer than ${timeoutMs} ms. Request a shorter range.`
    return new GatewayError('overloaded', text, { cause })
  }
  // With SQLite two queries took too long, and still run.
  const text = 'Reports are unavailable at the moment. Try again in a moment.'
  return new GatewayError('overloaded', text, { retryAfterSeconds: 2, cause })
}

function busy(text: string): GatewayError {
  return new GatewayError('overloaded', text, { retryAfterSeconds: 1 })
}
