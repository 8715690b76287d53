import { restMaxMs, restMs } from '../../core/failover.ts'
import { createDispatch, type Dispatch, type UpstreamPool } from './dispatch.ts'
import { createKeyRing, type KeyRing } from './key-ring.ts'

/** The way to one provider: its connections, and its keys. */
type Line = Pick<KeyRing, 'dispatch' | 'hasSpareKey'> & {
  /** Unsigned, with paths below the origin of the base URL. */
  dispatchToOrigin: Dispatch
  /** Drops the connections when nobody else has them. */
  close: () => Promise<void>
}

/** What a line is made from. */
type Asked = {
  providerId: string
  baseUrl: string
  keys: readonly string[]
  keyHeader: string | undefined
  badKeyMark: string | undefined
  limits: { upstreamConnectionsMax: number }
}

/** Enough for two lost packets; a slower host counts as unreachable, and another route is tried. */
const connectTimeoutMs = 5000

/** Lines to providers, which outlive the settings that asked for them first. */
export type Lines = {
  /** Opens a line, over the connections and with the resting keys of one that is there already. */
  open(asked: Asked): Line
}

type Ring = { ring: KeyRing; keys: readonly string[] }
type Connected = { pool: UpstreamPool; lines: number; last?: Ring }

export function createLines(monotonic: () => number): Lines {
  const connected = new Map<string, Connected>()

  const ringFor = (to: Connected, { keys, keyHeader, badKeyMark }: Asked): KeyRing => {
    const { last } = to
    if (last !== undefined && sameTexts(last.keys, keys)) return last.ring
    const { dispatch } = to.pool
    const own = { dispatch, keys, keyHeader, badKeyMark, restMs, restMaxMs, monotonic }
    const ring = createKeyRing(own)
    to.last = { ring, keys }
    return ring
  }
  return {
    open: (asked) => {
      const { providerId, baseUrl, limits } = asked
      const options = { connectTimeoutMs, connectionsMax: limits.upstreamConnectionsMax }
      const name = JSON.stringify([providerId, baseUrl, options])
      const to: Connected = connected.get(name) ?? {
        pool: createDispatch(baseUrl, options),
        lines: 0,
      }
      connected.set(name, to)
      to.lines++
      return {
        ...ringFor(to, asked),
        dispatchToOrigin: to.pool.dispatchToOrigin,
        close: async () => {
          to.lines--
          if (to.lines > 0) return
          connected.delete(name)
          await to.pool.close()
        },
      }
    },
  }
}

function sameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, place) => text === other[place])
}
