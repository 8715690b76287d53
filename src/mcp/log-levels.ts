import { LRUCache } from 'lru-cache'

/** The log levels that clients have set, by API key (MCP specification, logging). */
export type LogLevels = {
  /** Returns false if there is no such level. */
  set(keyId: string, level: unknown): level is string
  wantsInfo(keyId: string): boolean
}

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const info = levels.indexOf('info')
const keysMax = 10_000

/** There are no sessions, so a level belongs to the key. The default is `info`. */
export function createLogLevels(): LogLevels {
  const chosen = new LRUCache<string, number>({ max: keysMax })
  return {
    set: (keyId, level): level is string => {
      const index = typeof level === 'string' ? levels.indexOf(level) : -1
      if (index < 0) return false
      chosen.set(keyId, index)
      return true
    },
    wantsInfo: (keyId) => (chosen.get(keyId) ?? info) <= info,
  }
}
