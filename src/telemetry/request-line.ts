import { contractMethods } from '../../generated/operations.ts'
import type { FinishedExchange } from '../core/caller.ts'
import type { LoggedRow } from '../core/trace.ts'
import { shortened, GatewayError } from '../core/error.ts'
import { causeOf, textLengthMax } from './cause.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { LoggedRefusals } from './refusals.ts'

/** Methods with a label of their own. Other methods share one, since clients choose them. */
export const knownMethods: ReadonlySet<string> = new Set([...contractMethods, 'HEAD', 'OPTIONS'])

/** Counts a request and logs its line. */
export function logRequest(
  { log, metrics, refusals }: { log: Log; metrics: Metrics; refusals: LoggedRefusals },
  { requestId, method, path, status, durationMs, caller, error, left, row }: FinishedExchange,
): void {
  metrics.requests.observe(
    { method: knownMethods.has(method) ? method : 'other', status },
    durationMs / 1000,
  )
  const fields = {
    requestId,
    method,
    path: shortened(path, textLengthMax),
    status,
    durationMs,
    left: left || undefined,
    accountId: caller?.accountId,
    keyId: caller?.keyId,
    ...(row && callFields(row)),
  }
  if (error === undefined) return log[isCheck(path) ? 'debug' : 'info'](fields, 'request')
  if (status === 503) return refusals.refused(log, fields, error, 'request refused')
  const code = error instanceof GatewayError ? error.code : 'internal_error'
  if (status >= 500) return log.error({ ...fields, code, cause: causeOf(error) }, 'request failed')
  return log.info({ ...fields, code }, 'request refused')
}

/** Whether a path is requested by monitoring every few seconds. */
function isCheck(path: string): boolean {
  return path === '/health' || path === '/ready' || path === '/metrics'
}

/** The fields of a recorded call in the line of its request; the ledger has the exact cost. */
function callFields(row: LoggedRow) {
  const { model, provider, usage, costNanoUsd, cache, attempts } = row
  return {
    model: shortened(model, textLengthMax),
    // A cached answer has none.
    provider: provider ?? undefined,
    inputTokens: usage.inputTokens || undefined,
    outputTokens: usage.outputTokens || undefined,
    images: usage.images || undefined,
    costUsd: costNanoUsd === null ? undefined : costNanoUsd / 1e9,
    cache,
    // One attempt that succeeded says nothing new.
    attempts: attempts.length > 1 ? attempts.map(attemptText).join(', ') : undefined,
  }
}

function attemptText({ provider, outcome }: LoggedRow['attempts'][number]): string {
  return `${provider}=${outcome}`
}
