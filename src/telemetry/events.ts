import type { components } from '../../generated/types.ts'
import type { CallContext, FinishedExchange } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Attempt } from '../core/resilience/failover.ts'
import { wasCancelled } from '../core/failure.ts'
import type { UsageRow } from '../core/receipt.ts'
import type { Route } from '../core/route.ts'
import { causeOf, codeOf } from './cause.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { createRefusals, type LoggedRefusals } from './refusals.ts'
import { logRequest } from './request-line.ts'

type ModelNotices = { retirements: readonly { id: string; atMs: number }[]; sentences: string[] }
type Reloaded = components['schemas']['Reload']

/** One function per business event: only this file and request-line.ts decide what is logged. */
export type Events = ReturnType<typeof createEvents>

export function createEvents(log: Log, metrics: Metrics) {
  const refusals = createRefusals(() => log)
  const exchanged = (exchange: FinishedExchange): void => {
    log.defer(() => logRequest({ log, metrics, refusals }, exchange))
    if (exchange.error !== undefined) log.settle()
  }
  /** The log for a line that is written at once: deferred lines are written first, to keep the order. */
  const now = (): Log => {
    log.settle()
    return log
  }
  return {
    ...serverEvents(now, metrics),
    ...callEvents({ log, now, metrics, refusals }),
    stopped(): void {
      refusals.settle()
      now().info('stopped')
    },
    /** A request was answered, or its client disconnected. */
    exchanged,
    /** Bytes that were no valid request, or that arrived too late, were answered with an error. */
    refused(requestId: string, error: GatewayError): void {
      const { status } = error
      const request = { method: '-', path: '-', durationMs: 0, left: false, isStream: false }
      exchanged({ requestId, status, error, ...request, caller: undefined, row: undefined })
    },
    /** An error after the response was sent. */
    faulted(error: unknown): void {
      now().error({ cause: causeOf(error) }, 'error after the response')
    },
    /** A sign-in was refused. */
    signInFailed(): void {
      metrics.signInFailures.inc()
    },
  }
}

type CallParts = {
  log: Log
  now: () => Log
  metrics: Metrics
  refusals: LoggedRefusals
}

function callEvents({ log, now, metrics, refusals }: CallParts) {
  return {
    /** One attempt on one route has ended. */
    attempted(attempt: Attempt, { requestId }: CallContext, isStream: boolean): void {
      const { provider, outcome, startMs, durationMs } = attempt
      log.defer(() => {
        metrics.attempts.inc({ provider, outcome })
        // The attempt of a stream ends with its first event.
        if (isStream && outcome === 'ok')
          metrics.firstEvent.observe({ provider }, (startMs + durationMs) / 1000)
      })
      const isNormal = outcome === 'ok' || outcome === 'cancelled'
      if (isNormal && !log.isLevelEnabled('debug')) return
      const fields = { requestId, ...attempt }
      if (isNormal) now().debug(fields, 'attempt ended')
      // Only the operator can fix an account without credit or with an invalid key.
      else if (outcome === 'credentials' || outcome === 'out_of_credit')
        now().error(fields, 'provider account needs attention')
      else now().warn(fields, 'attempt failed')
    },
    /** A client disconnected from a call that continues (1), or a call without its client ended (-1). */
    left(change: 1 | -1): void {
      metrics.abandonedCalls.inc(change)
      if (change > 0) metrics.left.inc()
    },
    /** The routes of a call are known, in the order in which they are tried. */
    routed({ requestId }: CallContext, routes: readonly Route[]): void {
      if (!log.isLevelEnabled('debug')) return
      const names = routes.map(({ provider, upstreamModel }) => `${provider.id}/${upstreamModel}`)
      now().debug({ requestId, routes: names }, 'routes')
    },
    /** A call was recorded in the ledger, before its request ended. */
    recorded(row: UsageRow): void {
      log.defer(() => metrics.recorded(row))
    },
    /** A tool call ended with an error, which the client received unless it cancelled the call. */
    toolFailed(tool: string, error: GatewayError, { requestId, caller }: CallContext): void {
      const { code, status } = error
      const { accountId, keyId } = caller
      const fields = { requestId, tool, code, accountId, keyId }
      if (!wasCancelled(error)) metrics.responses.inc({ status, code })
      if (wasCancelled(error)) now().info({ requestId, tool, accountId, keyId }, 'tool cancelled')
      else if (status === 503) refusals.refused(now(), fields, error, 'tool refused')
      else if (status >= 500) now().error({ ...fields, cause: causeOf(error) }, 'tool failed')
      else now().info(fields, 'tool refused')
    },
  }
}

/** Minimum time between logged rejections: the system rejects many connections at once. */
const acceptPauseMs = 1000

/** Events of the server. `now` returns the log for lines that are written at once. */
function serverEvents(now: () => Log, metrics: Metrics) {
  let acceptNextLoggedAtMs = 0
  return {
    swept(open: number, closed: ReadonlyMap<string, number>): void {
      metrics.connections.set(open)
      for (const [reason, count] of closed) {
        metrics.closed.inc({ reason }, count)
        // Refused with an answer, but without an exchange.
        if (reason === 'full' || reason === 'address')
          metrics.responses.inc({ status: 503, code: 'overloaded' }, count)
      }
      if (closed.size > 0) now().warn({ open, ...Object.fromEntries(closed) }, 'connections closed')
    },
    /** The system has no more file descriptors or memory for connections. */
    acceptFailed(error: Error): void {
      metrics.closed.inc({ reason: 'unaccepted' })
      const nowMs = performance.now()
      if (nowMs < acceptNextLoggedAtMs) return
      acceptNextLoggedAtMs = nowMs + acceptPauseMs
      now().error({ code: codeOf(error) }, 'connections not accepted')
    },
    started(address: string, providers: readonly string[]): void {
      now().info({ address, providers }, 'listening')
    },
    /** The models in use were compared with the catalog; `isDue` logs the sentences on changes. */
    modelsSeen({ retirements, sentences }: ModelNotices, isDue: boolean): void {
      metrics.retirements.reset()
      for (const { id, atMs } of retirements) metrics.retirements.set({ model: id }, atMs / 1000)
      if (isDue) now().warn({ models: sentences }, 'models in use change')
    },
    ...storeEvents(now, metrics),
    ...backgroundEvents(now, metrics),
    ...exportEvents(now),
    ...redisEvents(now, metrics),
    /** The shared cache was read or written. */
    sharedCacheUsed: metrics.sharedCacheUsed,
    ...limitEvents(now, metrics),
    stopping(signal: string): void {
      now().info({ signal }, 'draining')
    },
    /** The primary has ended, so this worker ends too. */
    primaryEnded(): void {
      now().error('primary ended, draining')
    },
    crashed(error: unknown): void {
      now().fatal({ cause: causeOf(error) }, 'crashed')
    },
    /** The shutdown took too long. */
    stuck(): void {
      now().fatal('shutdown timed out')
    },
    /** The settings were reloaded. */
    reloaded({ changed, needs_restart: needsRestart, notices }: Reloaded): void {
      now().info({ changed, needsRestart, ...(notices.length > 0 && { notices }) }, 'reloaded')
    },
    /** The reload failed; the current settings stay in force. */
    reloadRefused(error: unknown): void {
      const reason = error instanceof GatewayError ? error.message : undefined
      now().error({ reason, cause: causeOf(error) }, 'reload failed')
    },
    /** A signal without effect was received. */
    ignored(signal: string): void {
      now().warn({ signal }, 'signal ignored')
    },
  }
}

/** Events of exports to the collector: the first failure and the recovery. */
function exportEvents(now: () => Log) {
  const failing = new Set<string>()
  return {
    exported(signal: string, error?: Error): void {
      if (error === undefined) {
        if (failing.delete(signal)) now().info({ signal }, 'export works again')
        return
      }
      if (failing.has(signal)) return
      failing.add(signal)
      // The collector's message may repeat the request headers.
      now().warn({ signal, code: codeOf(error) ?? error.name }, 'export failed')
    },
  }
}

/** Events of the store: failed writes and their recovery. */
function storeEvents(now: () => Log, metrics: Metrics) {
  return {
    /** A group of rows or reservations was committed, or failed. */
    committed(durationMs: number): void {
      metrics.commits.observe(durationMs / 1000)
    },
    storeFailed({ reason, remedy }: { reason: string; remedy: string }, error: Error): void {
      now().error(
        { reason, remedy, cause: causeOf(error) },
        'store cannot be written, calls are refused',
      )
    },
    /** A process died during a call: the amount that the call had reserved is charged. */
    reservationAbandoned(reservation: object): void {
      const text = 'call charged its reserved amount: its process died'
      now().warn({ reservation }, text)
    },
    /** A process died during a call without a budget: its row has no cost. */
    callLost(call: object): void {
      now().warn({ call }, 'call recorded with unknown cost: its process died')
    },
    storeNoticed(notice: string): void {
      now().warn({ notice }, 'store')
    },
    storeRecovered(rows: number): void {
      now().warn({ rows }, 'store can be written again')
    },
    rowRefused(row: object, error: Error): void {
      now().error({ row, cause: causeOf(error) }, 'journal row refused')
    },
  }
}

/** Events of background work: the first failure and the recovery. */
function backgroundEvents(now: () => Log, metrics: Metrics) {
  const failing = new Set<string>()
  return {
    worked(work: string, error?: unknown): void {
      if (error === undefined) {
        if (failing.delete(work)) now().info({ work }, 'background work succeeds again')
        return
      }
      metrics.backgroundFailures.inc({ work })
      if (failing.has(work)) return
      failing.add(work)
      now().error({ work, cause: causeOf(error) }, 'background work failed, will be retried')
    },
    /** A webhook was called. */
    webhookAttempted(outcome: 'delivered' | 'failed' | 'gone'): void {
      metrics.webhookAttempts.inc({ outcome })
    },
  }
}

/** Events of the connection to Redis: lost, restored, and refused commands. */
function redisEvents(now: () => Log, metrics: Metrics) {
  return {
    redisUsed(redis: string): void {
      metrics.redisUp(1)
      now().info({ redis }, 'redis answers')
    },
    redisLost(redis: string, { reason, remedy }: { reason: string; remedy: string }): void {
      metrics.redisUp(0)
      const text = 'redis does not answer: each process counts and caches on its own'
      now().error({ redis, reason, remedy }, text)
    },
    redisBack(redis: string, awayMs: number): void {
      metrics.redisUp(1)
      now().warn({ redis, awayMs }, 'redis answers again')
    },
    redisRefused(redis: string, { reason, remedy }: { reason: string; remedy: string }): void {
      now().error({ redis, reason, remedy }, 'redis refuses commands')
    },
  }
}

/** Events of limits that several processes count together. */
function limitEvents(now: () => Log, metrics: Metrics) {
  return {
    limitsShared(): void {
      metrics.limitsFallback(0)
    },
    limitsAlone(error: unknown): void {
      metrics.limitsFallback(1)
      const text = 'limits are not shared: each process enforces its part'
      now().error({ cause: causeOf(error) }, text)
    },
    limitsJoint(): void {
      metrics.limitsFallback(0)
      now().warn('limits are shared again')
    },
  }
}
