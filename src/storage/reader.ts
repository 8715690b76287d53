import type { Kysely } from 'kysely'
import { GatewayError } from '../core/error.ts'
import { StoreError } from './store-error.ts'
import type { Tables } from './tables.ts'

/** A report may read a whole ledger, while a person waits for it. */
export const reportTimeoutMs = 30_000
/** Reports run one at a time: further ones would wait longer than their callers do. */
export const reportsWaitingMax = 32
/** A page of the dashboard sends several requests at once; one account must not fill the queue. */
export const reportsPerAccountMax = 8

/** Reads the store beside the connections that write to it (docs/storage.md#reports). */
export type Reader = {
  db: Kysely<Tables>
  /**
   * Begins a report of an account, which lasts until the function that it gives is called. Throws
   * `overloaded` while too many wait, or the account has its share of them.
   */
  begin(accountId: string): () => void
  close(): Promise<void>
}

export type TurnLimits = {
  /** Reports that wait. */
  waitingMax: number
  /** Reports of one account that are under way. */
  perAccountMax: number
}

/** The `begin` of a reader; `waiting` tells how many wait for it now. */
export function createTurns(
  { waitingMax, perAccountMax }: TurnLimits,
  waiting: () => number,
): Reader['begin'] {
  const underWay = new Map<string, number>()
  return (accountId) => {
    const own = underWay.get(accountId) ?? 0
    if (own >= perAccountMax) throw ownBusy(own)
    if (waiting() >= waitingMax) throw busy()
    underWay.set(accountId, own + 1)
    return () => {
      const left = underWay.get(accountId)! - 1
      if (left === 0) underWay.delete(accountId)
      else underWay.set(accountId, left)
    }
  }
}

/** Tells a query that took too long, and a reader that is not there, from a query that failed. */
export function readingFailure(cause: unknown, timeoutMs: number): unknown {
  if (!(cause instanceof StoreError) || cause.concernsStatement) return cause
  return cause.isLate ? tooLong(timeoutMs, cause) : absent(cause)
}

function busy(): GatewayError {
  const text = 'Too many reports are being made. Try again in a moment.'
  return new GatewayError('overloaded', text, { retryAfterSeconds: 1 })
}

function ownBusy(count: number): GatewayError {
  const text = `${count} reports and exports of this account are under way already. Wait until one of them has ended.`
  return new GatewayError('overloaded', text, { retryAfterSeconds: 1 })
}

/** As behind one that took too long, until its thread or its connection has ended. */
function absent(cause: StoreError): GatewayError {
  const text = 'Reports cannot be made at the moment. Try again.'
  return new GatewayError('overloaded', text, { retryAfterSeconds: 2, cause })
}

function tooLong(timeoutMs: number, cause: unknown): GatewayError {
  const text = `The report takes longer than ${timeoutMs} ms. Ask for a shorter range.`
  return new GatewayError('overloaded', text, { cause })
}
