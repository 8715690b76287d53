import { LRUCache } from 'lru-cache'
import { schemaChecks } from '../../generated/checks.js'
import type { MessageId } from './json-rpc.ts'
import { nameOf, type Client, type SessionLimits } from './sessions.ts'
import type { ReportProgress } from './tool.ts'

/** The state of a tool call, as log messages report it. */
export type ToolCallState = { tool: string; requestId: string; state: string; elapsedMs: number }

export type ToolNotification =
  | {
      method: 'notifications/progress'
      params: { progressToken: MessageId; progress: number; message: string }
    }
  | { method: 'notifications/message'; params: LogMessage }
type LogMessage = { level: 'info'; logger: 'generation'; data: ToolCallState }

/** The state of a call as a log message. */
export function logOf(data: ToolCallState): LogMessage {
  return { level: 'info', logger: 'generation', data }
}

/** Reports one running call to its clients. */
export type CallReports = ReturnType<typeof startReports>

type Options = {
  toolName: string
  requestId: string
  /** The client's progress token; without a token no progress is sent. */
  token: MessageId | undefined
  notify: (notification: ToolNotification) => void
  /** Receivers of the call's state: the log messages in its answer, and the event streams of the account. */
  listeners: readonly ((state: ToolCallState) => void)[]
  intervalMs: number
  monotonic: () => number
}

/** Reports the start, then reports at every interval until the end (docs/tool-protocol.md#progress). */
export function startReports(options: Options) {
  const { toolName: tool, requestId, token, notify, listeners, intervalMs, monotonic } = options
  const startedAt = monotonic()
  let progress = 0
  let known = ''
  const send = (message: string) => {
    if (token === undefined) return
    const params = { progressToken: token, progress: progress++, message }
    notify({ method: 'notifications/progress', params })
  }
  const report: ReportProgress = (state) => {
    known = `: ${state}`
    send(`${tool}${known}.`)
  }
  const publish = (state: string, elapsedMs: number) => {
    for (const listener of listeners) listener({ tool, requestId, state, elapsedMs })
  }
  publish('started', 0)
  send(`${tool} has started.`)
  const isSilent = token === undefined && listeners.length === 0
  const timer = isSilent
    ? undefined
    : setInterval(() => {
        const elapsedMs = monotonic() - startedAt
        send(`${tool} has been running for ${Math.round(elapsedMs / 1000)} s${known}.`)
        publish('running', elapsedMs)
      }, intervalMs)
  return {
    report,
    end: (state: string) => {
      clearInterval(timer)
      publish(state, monotonic() - startedAt)
    },
  }
}

/** The member of `_meta` with which a request of revision 2026-07-28 sets the log level of its answer. */
export const levelMember = 'io.modelcontextprotocol/logLevel'

/**
 * The log levels that clients have set (MCP specification, logging), in a cache of limited size; a client without
 * an entry has the level `info`.
 */
export function createLogLevels(limits: SessionLimits) {
  const admitting = new LRUCache<string, boolean>({ max: limits.toolSessionsRememberedMax })
  return {
    /** Returns false for an unknown level. */
    set: (client: Client, level: unknown): level is string => {
      if (!schemaChecks.LogLevel(level)) return false
      admitting.set(nameOf(client), admitsInfo(level))
      return true
    },
    wantsInfo: (client: Client) => admitting.get(nameOf(client)) ?? true,
    forget: (client: Client) => void admitting.delete(nameOf(client)),
  }
}

/** Whether a level includes `info`, the level of all messages. */
export function admitsInfo(level: unknown): boolean {
  return level === 'debug' || level === 'info'
}
