import { LRUCache } from 'lru-cache'
import { schemaChecks } from '../../generated/checks.js'
import { nameOf, type Client } from './sessions.ts'

/** The log levels that clients have set (MCP specification, logging). */
export type LogLevels = {
  /** Returns false if there is no such level. */
  set(client: Client, level: unknown): level is string
  wantsInfo(client: Client): boolean
  forget(client: Client): void
}

/** The member of `_meta` by which a request of revision 2026-07-28 sets the level of its answer. */
export const levelMember = 'io.modelcontextprotocol/logLevel'

/** The default is `info`, also for who set a level before so many others did. */
export function createLogLevels(limits: { toolSessionsRememberedMax: number }): LogLevels {
  const admitting = new LRUCache<string, boolean>({ max: limits.toolSessionsRememberedMax })
  return {
    set: (client, level): level is string => {
      if (!schemaChecks.LogLevel(level)) return false
      admitting.set(nameOf(client), admitsInfo(level))
      return true
    },
    wantsInfo: (client) => admitting.get(nameOf(client)) ?? true,
    forget: (client) => void admitting.delete(nameOf(client)),
  }
}

/** Whether a level lets `info` through, that of all messages here. */
export function admitsInfo(level: unknown): boolean {
  return level === 'debug' || level === 'info'
}
