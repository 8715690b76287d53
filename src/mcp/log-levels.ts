import { LRUCache } from 'lru-cache'

/** Which log messages the clients of a key want (MCP specification, logging). */
export type LogLevels = {
  /** False for a level that there is not. */
  set(keyId: string, level: unknown): boolean
  wantsInfo(keyId: string): boolean
}

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const info = levels.indexOf('info')
const keysMax = 10_000

/** Without sessions a level belongs to the key; one that nobody set is `info`. */
export function createLogLevels(): LogLevels {
  const chosen = new LRUCache<string, number>({ max: keysMax })
  return {
    set: (keyId, level) => {
      const index = typeof level === 'string' ? levels.indexOf(level) : -1
      if (index < 0) return false
      chosen.set(keyId, index)
      return true
    },
    wantsInfo: (keyId) => (chosen.get(keyId) ?? info) <= info,
  }
}
