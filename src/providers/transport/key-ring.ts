import type { Dispatch, Receiver } from './dispatch.ts'
import { retryAfterSeconds } from './http-failure.ts'

/** The API keys of one provider; no other code reads them. */
export type KeyRing = {
  /** Sends a request with the next usable key, or without a key if there are none. */
  dispatch: Dispatch
  /** Whether several keys exist and one of them is usable. */
  hasSpareKey(): boolean
}

type Options = {
  dispatch: Dispatch
  keys: readonly string[]
  /** The header that carries the key; a bearer token when absent. */
  keyHeader?: string | undefined
  /** Text in the body of a 400 that means that the key is invalid. */
  badKeyMark?: string | undefined
  /** Minimum time for which a rejected key is not used. */
  restMs: number
  restMaxMs: number
  monotonic: () => number
}
type Key = { headers: Record<string, string>; restsUntil: number }

const refusals = new Set([401, 402, 403, 429])

/**
 * Uses the keys in rotation. A rejected key is not used for a time. If this applies to all keys, the
 * key whose time ends first is used.
 */
export function createKeyRing(options: Options): KeyRing {
  const { dispatch, keys, keyHeader, restMs, restMaxMs, monotonic } = options
  const ring: readonly Key[] = keys.map((key) => ({
    headers: keyHeader === undefined ? { authorization: `Bearer ${key}` } : { [keyHeader]: key },
    restsUntil: 0,
  }))
  const [only] = ring
  if (ring.length < 2) {
    const signed: Dispatch = (request, receiver) =>
      dispatch({ ...request, headers: { ...request.headers, ...only?.headers } }, receiver)
    return { dispatch: signed, hasSpareKey: () => false }
  }

  let turn = 0
  const next = (): Key => {
    const now = monotonic()
    for (let step = 0; step < ring.length; step++) {
      const key = ring[turn++ % ring.length]!
      if (key.restsUntil <= now) return key
    }
    return ring.reduce((best, key) => (key.restsUntil < best.restsUntil ? key : best))
  }
  const rest = (key: Key, seconds = 0) => {
    key.restsUntil = monotonic() + Math.min(Math.max(seconds * 1000, restMs), restMaxMs)
  }
  const badKeyMark = options.badKeyMark === undefined ? undefined : Buffer.from(options.badKeyMark)

  return {
    hasSpareKey: () => ring.some(({ restsUntil }) => restsUntil <= monotonic()),
    dispatch: (request, receiver) => {
      const key = next()
      let status = 0
      const watched: Receiver = {
        ...receiver,
        head: (code, answered) => {
          status = code
          if (refusals.has(code)) rest(key, retryAfterSeconds({ status: code, headers: answered }))
          receiver.head(code, answered)
        },
        data: (piece) => {
          if (status === 400 && badKeyMark !== undefined && piece.includes(badKeyMark)) rest(key)
          receiver.data(piece)
        },
      }
      dispatch({ ...request, headers: { ...request.headers, ...key.headers } }, watched)
    },
  }
}
