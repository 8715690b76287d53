import { contractMethods } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import type { CallContext, Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Attempt } from '../core/failover.ts'
import { wasCancelled } from '../core/failure.ts'
import type { UsageRow } from '../core/receipt.ts'
import type { Route } from '../core/route.ts'
import { shortened } from '../core/words/shorten.ts'
import { causeOf, codeOf, textLengthMax } from './cause.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { createRefusals, type LoggedRefusals } from './refusals.ts'

type Reloaded = components['schemas']['Reload']

/** One line of the access log. */
type Exchange = {
  requestId: string
  method: string
  path: string
  status: number
  durationMs: number
  caller: Caller | undefined
  error: unknown
  /** Whether the caller disconnected before the answer ended. */
  left: boolean
}

/** The others are one series of the metrics: Node takes some thirty methods. */
const knownMethods: ReadonlySet<string> = new Set([...contractMethods, 'HEAD', 'OPTIONS'])

/** One function per business event: only this file decides what is logged and counted. */
export type Events = ReturnType<typeof createEvents>

export function createEvents(log: Log, metrics: Metrics) {
  const refusals = createRefusals(() => log)
  const exchanged = (exchange: Exchange): void => {
    const endedAt = Date.now()
    log.defer(() => printExchange({ log, metrics, refusals }, exchange, endedAt))
    if (exchange.error !== undefined) log.settle()
  }
  /** For lines that are printed at once, after the deferred ones. */
  const now = (): Log => {
    log.settle()
    return log
  }
  return {
    ...serverEvents(now, metrics),
    stopped(): void {
      refusals.settle()
      now().info('stopped')
    },
    /** A request was answered, or its caller left. */
    exchanged,
    /** What was no request, or came too late to be read, was answered with an error. */
    refused(requestId: string, error: GatewayError): void {
      const { status } = error
      const request = { method: '-', path: '-', durationMs: 0, caller: undefined, left: false }
      exchanged({ requestId, status, error, ...request })
    },
    /** One try of one route is over. */
    attempted(_route: Route, attempt: Attempt, { requestId }: CallContext): void {
      const { provider, outcome } = attempt
      log.defer(() => metrics.attempts.inc({ provider, outcome }))
      if (outcome === 'ok' || outcome === 'cancelled') return
      const fields = { requestId, ...attempt }
      // Only the operator can fix these.
      if (outcome === 'credentials' || outcome === 'out_of_credit')
        now().error(fields, 'provider account')
      else now().warn(fields, 'attempt failed')
    },
    /** A caller left a call that goes on; or such a call has ended. */
    left(change: 1 | -1): void {
      metrics.leftCalls.inc(change)
      if (change > 0) metrics.left.inc()
    },
    /** A call was recorded in the ledger. */
    recorded(row: UsageRow): void {
      log.defer(() => metrics.recorded(row))
    },
    /** Something went wrong behind an answer that was out already. */
    faulted(error: unknown): void {
      now().error({ cause: causeOf(error) }, 'fault behind an answer')
    },
    /** Somebody had a wrong e-mail or password. */
    signInFailed(): void {
      metrics.signInFailures.inc()
    },
    /** A tool call ended with an error, which its caller received unless it gave up itself. */
    toolFailed(tool: string, error: GatewayError, { requestId, caller }: CallContext): void {
      const { code, status } = error
      const { accountId, keyId } = caller
      const fields = { requestId, tool, code, accountId, keyId }
      if (wasCancelled(error)) now().info({ requestId, tool, accountId, keyId }, 'tool cancelled')
      else if (status === 503) refusals.refused(now(), fields, error, 'tool refused')
      else if (status >= 500) now().error({ ...fields, cause: causeOf(error) }, 'tool failed')
      else now().info(fields, 'tool refused')
    },
  }
}

/** The system fails many connections at once. */
const acceptPauseMs = 1000

/** What happens to the server itself. `now` gives the log for lines that are printed at once. */
function serverEvents(now: () => Log, metrics: Metrics) {
  let acceptToldAgainAtMs = 0
  return {
    /** How many connections are open, and how many were closed before their time, and why. */
    swept(open: number, closed: ReadonlyMap<string, number>): void {
      metrics.connections.set(open)
      for (const [reason, count] of closed) metrics.closed.inc({ reason }, count)
      if (closed.size > 0) now().warn({ open, ...Object.fromEntries(closed) }, 'connections closed')
    },
    /** The system has no more files for connections, or the like. */
    acceptFailed(error: Error): void {
      metrics.closed.inc({ reason: 'unaccepted' })
      const nowMs = performance.now()
      if (nowMs < acceptToldAgainAtMs) return
      acceptToldAgainAtMs = nowMs + acceptPauseMs
      now().error({ code: codeOf(error) }, 'connections not accepted')
    },
    /** `retiring` are models that settings name and that end, or are not there. */
    started(address: string, providers: readonly string[], retiring: readonly string[]): void {
      now().info({ address, providers, ...(retiring.length > 0 && { retiring }) }, 'listening')
    },
    ...storeEvents(now),
    ...backgroundEvents(now, metrics),
    ...exportEvents(now),
    ...redisEvents(now, metrics),
    /** The far cache was asked, or given an answer. */
    farCacheAsked(outcome: string): void {
      metrics.farCacheAsked(outcome)
    },
    ...limitEvents(now, metrics),
    stopping(signal: string): void {
      now().info({ signal }, 'draining')
    },
    /** A worker is alone, and ends. */
    primaryEnded(): void {
      now().error('primary ended, draining')
    },
    /** A bug that nothing catches. */
    crashed(error: unknown): void {
      now().fatal({ cause: causeOf(error) }, 'crashed')
    },
    /** It did not stop within its limits. */
    stuck(): void {
      now().fatal('not stopped in time')
    },
    /** The settings were read again. */
    reloaded({ changed, needs_restart: needsRestart, notices }: Reloaded): void {
      now().info({ changed, needsRestart, ...(notices.length > 0 && { notices }) }, 'reloaded')
    },
    /** The settings in force stay. */
    reloadRefused(error: unknown): void {
      const reason = error instanceof GatewayError ? error.message : undefined
      now().error({ reason, cause: causeOf(error) }, 'not reloaded')
    },
    /** A signal that changes nothing. */
    ignored(signal: string): void {
      now().warn({ signal }, 'signal ignored')
    },
  }
}

/** What is told of the collector of traces and metrics: when it fails, and when it takes them again. */
function exportEvents(now: () => Log) {
  const failing = new Set<string>()
  return {
    exported(signal: string, error?: Error): void {
      if (error === undefined) {
        if (failing.delete(signal)) now().info({ signal }, 'collector takes them again')
        return
      }
      if (failing.has(signal)) return
      failing.add(signal)
      // What the collector says of it may repeat the headers.
      now().warn({ signal, code: codeOf(error) ?? error.name }, 'not exported')
    },
  }
}

/** What is told of the store: when it takes no rows, and when it takes them again. */
function storeEvents(now: () => Log) {
  return {
    storeFailed({ reason, remedy }: { reason: string; remedy: string }, error: Error): void {
      now().error(
        { reason, remedy, cause: causeOf(error) },
        'store takes no rows, calls are refused',
      )
    },
    /** A call of a process that died held something of a budget, which is given back now. */
    reservationAbandoned(reservation: object): void {
      const text = 'call charged as it was held: its process died'
      now().warn({ reservation }, text)
    },
    storeNoticed(notice: string): void {
      now().warn({ notice }, 'store')
    },
    storeRecovered(rows: number): void {
      now().warn({ rows }, 'store takes rows again')
    },
    rowRefused(row: object, error: Error): void {
      now().error({ row, cause: causeOf(error) }, 'row of the journal refused')
    },
  }
}

/** What is told of work that nobody waits for: when it fails, and when it is done again. */
function backgroundEvents(now: () => Log, metrics: Metrics) {
  const failing = new Set<string>()
  return {
    /** Work of this name was done, or failed. */
    worked(work: string, error?: unknown): void {
      if (error === undefined) {
        if (failing.delete(work)) now().info({ work }, 'background work is done again')
        return
      }
      metrics.backgroundFailures.inc({ work })
      if (failing.has(work)) return
      failing.add(work)
      now().error({ work, cause: causeOf(error) }, 'background work fails, and is tried again')
    },
  }
}

/** What is told of Redis: when it goes, when it is back, and why it does not do what it is asked. */
function redisEvents(now: () => Log, metrics: Metrics) {
  return {
    redisUsed(redis: string): void {
      metrics.redisUp(1)
      now().info({ redis }, 'redis answers')
    },
    redisLost(redis: string, { reason, remedy }: { reason: string; remedy: string }): void {
      metrics.redisUp(0)
      const text = 'redis does not answer: each process counts and remembers on its own'
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

/** What is told of limits that several processes count together. */
function limitEvents(now: () => Log, metrics: Metrics) {
  return {
    limitsShared(): void {
      metrics.limitsFallback(0)
    },
    limitsAlone(error: unknown): void {
      metrics.limitsFallback(1)
      const text = 'limits are not counted together: each process counts its share'
      now().error({ cause: causeOf(error) }, text)
    },
    limitsJoint(): void {
      metrics.limitsFallback(0)
      now().warn('limits are counted together again')
    },
  }
}

type Printing = { log: Log; metrics: Metrics; refusals: LoggedRefusals }

function printExchange(
  { log, metrics, refusals }: Printing,
  exchange: Exchange,
  endedAt: number,
): void {
  const { requestId, method, path, status, durationMs, caller, error, left } = exchange
  metrics.requests.observe(
    { method: knownMethods.has(method) ? method : 'other', status },
    durationMs / 1000,
  )
  const fields = {
    time: new Date(endedAt).toISOString(),
    requestId,
    method,
    path: shortened(path, textLengthMax),
    status,
    durationMs,
    left: left || undefined,
    accountId: caller?.accountId,
    keyId: caller?.keyId,
  }
  if (error === undefined) return log.info(fields, 'request')
  if (status === 503) return refusals.refused(log, fields, error, 'request refused')
  const code = error instanceof GatewayError ? error.code : 'internal_error'
  if (status >= 500) return log.error({ ...fields, code, cause: causeOf(error) }, 'request failed')
  return log.info({ ...fields, code }, 'request refused')
}
