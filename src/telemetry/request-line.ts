import { contractMethods } from '../../generated/operations.ts'
import { isCheck, type FinishedExchange } from '../core/caller.ts'
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
  exchange: FinishedExchange,
): void {
  const { requestId, method, path, status, durationMs, caller, error, left, row } = exchange
  metrics.requests.observe(
    { method: knownMethods.has(method) ? method : 'other', status },
    durationMs / 1000,
  )
  const errorCode = error instanceof GatewayError ? error.code : 'internal_error'
  const code = error === undefined ? 'none' : errorCode
  // Monitoring would hide that most of a few other requests are refused.
  if (!isCheck(path)) metrics.responses.inc({ status, code })
  const fields = {
    requestId,
    method,
    path: shortened(path, textLengthMax),
    status,
    durationMs,
    left: left || undefined,
    accountId: caller?.accountId,
    keyId: caller?.keyId,
    ...(row && callFields(row, exchange)),
  }
  if (error === undefined) return log[isCheck(path) ? 'debug' : 'info'](fields, 'request')
  if (status === 503) return refusals.refused(log, fields, error, 'request refused')
  if (status >= 500) return log.error({ ...fields, code, cause: causeOf(error) }, 'request failed')
  return log.info({ ...fields, code }, 'request refused')
}

/** The fields of a recorded call in the line of its request; the ledger has the exact cost. */
function callFields(row: LoggedRow, { isStream }: Pick<FinishedExchange, 'isStream'>) {
  const { model, provider, usage, costNanoUsd, cache, attempts, modality, tags } = row
  // Only an attempt of a streamed chat ends with its first event.
  const begun = isStream && modality === 'chat' ? attempts.at(-1) : undefined
  const first = begun?.outcome === 'ok' ? begun : undefined
  return {
    model: shortened(model, textLengthMax),
    // A cached answer has none.
    provider: provider ?? undefined,
    inputTokens: usage.inputTokens || undefined,
    outputTokens: usage.outputTokens || undefined,
    images: usage.images || undefined,
    costUsd: costNanoUsd === null ? undefined : costNanoUsd / 1e9,
    cache,
    tags,
    stream: isStream,
    vendorMs: vendorMsOf(row, first !== undefined),
    firstTokenMs: first && first.startMs + first.durationMs,
    attempts: attempts.map(({ provider, outcome }) => `${provider}=${outcome}`).join(', '),
  }
}

/** Time during which at least one attempt ran; with `isStreamed` the last one ran until the call ended. */
function vendorMsOf({ attempts, durationMs: endMs }: LoggedRow, isStreamed: boolean): number {
  let [vendorMs, untilMs] = [0, 0]
  for (const { startMs, durationMs } of attempts.toSorted((a, b) => a.startMs - b.startMs)) {
    const attemptEndMs = startMs + durationMs
    vendorMs += Math.max(0, attemptEndMs - Math.max(startMs, untilMs))
    untilMs = Math.max(untilMs, attemptEndMs)
  }
  return isStreamed ? vendorMs + Math.max(0, endMs - untilMs) : vendorMs
}
