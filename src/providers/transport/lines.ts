import { restMaxMs, restMs } from '../../core/resilience/failover.ts'
import { createDispatch, type Connector, type Dispatch, type UpstreamPool } from './dispatch.ts'
import { tokenCredential } from './credential.ts'
import { createKeyRing, keyCredential, type KeyRing } from './key-ring.ts'
import { accountTokens } from './account-tokens.ts'
import type { TokensInUse } from './vendor-texts.ts'

type Line = Pick<KeyRing, 'dispatch' | 'hasSpareKey'> & {
  /** Sends without the key. */
  dispatchUnsigned: Dispatch
  /** Closes the connections after their last user. */
  close: () => Promise<void>
}

type VendorLine = {
  providerId: string
  baseUrl: string
  keys: readonly string[]
  keyHeader: string | undefined
  keyScheme: string | undefined
  /** The scope of the tokens of a service account, whose JSON is the key; absent for API keys. */
  tokenScope: string | undefined
  badKeyMark: string | undefined
  limits: { upstreamConnectionsMax: number }
  isGuarded: boolean
}

/** Allows for two lost packets. A slower host counts as unreachable, and the next route is tried. */
export const connectTimeoutMs = 5000

/** Connections to providers, which stay open when settings change. */
export type Lines = {
  /** Opens connections, or shares existing connections and the state of their keys. */
  open(line: VendorLine): Line
  tokens: TokensInUse
}

type Connected = {
  pool: UpstreamPool
  lines: number
  last?: { ring: KeyRing; keys: readonly string[] }
}
type Options = { monotonic: () => number; clock: () => number; guardedConnector: Connector }

/** Tokens that texts are cleaned of: more than are valid at once. */
const tokensMax = 16

export function createLines({ monotonic, clock, guardedConnector }: Options): Lines {
  const tokens: TokensInUse = { latest: [] }
  const connected = new Map<string, Connected>()

  const onToken = (token: string) => {
    tokens.latest = [token, ...tokens.latest].slice(0, tokensMax)
  }
  const ringFor = (to: Connected, line: VendorLine): KeyRing => {
    const { keys, badKeyMark } = line
    const { last } = to
    if (last !== undefined && sameTexts(last.keys, keys)) return last.ring
    const parts = { ...line, monotonic, clock, connector: guardedConnector, onToken }
    const credentials = credentialsOf(parts)
    const { dispatch } = to.pool
    const ring = createKeyRing({ dispatch, credentials, badKeyMark, restMs, restMaxMs, monotonic })
    to.last = { ring, keys }
    return ring
  }
  return {
    tokens,
    open: (line) => {
      const { providerId, baseUrl, limits, isGuarded } = line
      const options = { connectTimeoutMs, connectionsMax: limits.upstreamConnectionsMax }
      const name = JSON.stringify([providerId, baseUrl, options, isGuarded])
      const connector = isGuarded ? guardedConnector : undefined
      const to: Connected = connected.get(name) ?? {
        pool: createDispatch(baseUrl, { ...options, connector }),
        lines: 0,
      }
      connected.set(name, to)
      to.lines++
      return {
        ...ringFor(to, line),
        dispatchUnsigned: to.pool.dispatch,
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

type Keys = Pick<VendorLine, 'keys' | 'keyHeader' | 'keyScheme' | 'tokenScope'> & {
  clock: () => number
  monotonic: () => number
  /** For connections to token endpoints. */
  connector: Connector
  onToken: (token: string) => void
}

/** What signs with each key. */
export function credentialsOf({ keys, keyHeader, keyScheme, tokenScope, clock, ...parts }: Keys) {
  return keys.map((key) =>
    tokenScope === undefined
      ? keyCredential(key, keyHeader, keyScheme)
      : tokenCredential({ ...parts, request: accountTokens(key, tokenScope, clock) }),
  )
}

function sameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, place) => text === other[place])
}
