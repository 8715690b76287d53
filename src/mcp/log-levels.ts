import { LRUCache } from 'lru-cache'
import { nameOf, type Client } from './sessions.ts'

/** The log levels that clients have set (MCP specification, logging). */
export type LogLevels = {
  /** Returns false if there is no such level. */
  set(client: Client, level: unknown): level is string
  wantsInfo(client: Client): boolean
  forget(client: Client): void
}

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const info = levels.indexOf('info')
const clientsMax = 10_000

/** The default is `info`. */
export function createLogLevels(): LogLevels {
  const chosen = new LRUCache<string, number>({ max: clientsMax })
  return {
    set: (client, level): level is string => {
      const index = typeof level === 'string' ? levels.indexOf(level) : -1
      if (index < 0) return false
      chosen.set(nameOf(client), index)
      return true
    },
    wantsInfo: (client) => (chosen.get(nameOf(client)) ?? info) <= info,
    forget: (client) => void chosen.delete(nameOf(client)),
  }
}
