import type { Dispatch, Receiver, UpstreamRequest } from './dispatch.ts'
import { retryAfterSeconds } from './http-failure.ts'

/** Several keys of one vendor, each of which rests when the vendor refuses it. */
export type KeyRing = {
  dispatch: Dispatch
  /** Whether a key is left that does not rest. */
  hasSpareKey(): boolean
}

type Options = {
  dispatch: Dispatch
  keys: readonly string[]
  /** How the vendor takes a key. */
  headersOf: (key: string) => Record<string, string>
  /** How long a key rests when the vendor does not say so. */
  restMs: number
  restMaxMs: number
  clock: () => number
}

const refusals = new Set([401, 402, 403, 429])
/** Gemini answers a bad key with 400, as if the caller had sent it. */
const badKey = Buffer.from('API_KEY_INVALID')

/** Sends each request with the next key that does not rest; with the one that rests shortest if all do. */
export function createKeyRing(options: Options): KeyRing {
  const { dispatch, keys, headersOf, restMs, restMaxMs, clock } = options
  const ring = keys.map((key) => ({ headers: headersOf(key), restsUntil: 0 }))
  type Key = (typeof ring)[number]
  let turn = 0

  const next = (): Key => {
    const now = clock()
    for (let step = 0; step < ring.length; step++) {
      const key = ring[turn++ % ring.length]!
      if (key.restsUntil <= now) return key
    }
    return ring.reduce((best, key) => (key.restsUntil < best.restsUntil ? key : best))
  }
  const rest = (key: Key, seconds = 0) => {
    key.restsUntil = clock() + Math.min(Math.max(seconds * 1000, restMs), restMaxMs)
  }

  return {
    hasSpareKey: () => ring.some(({ restsUntil }) => restsUntil <= clock()),
    dispatch: (request, receiver) => {
      const key = next()
      const headers: UpstreamRequest['headers'] = { ...request.headers, ...key.headers }
      let status = 0
      const watched: Receiver = {
        ...receiver,
        head: (code, answered) => {
          status = code
          if (refusals.has(code)) rest(key, retryAfterSeconds({ status: code, headers: answered }))
          receiver.head(code, answered)
        },
        data: (piece) => {
          if (status === 400 && piece.includes(badKey)) rest(key)
          receiver.data(piece)
        },
      }
      dispatch({ ...request, headers }, watched)
    },
  }
}
