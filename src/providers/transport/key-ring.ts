import { retryAfterSeconds } from '../../core/retry-after.ts'
import { headersJoiner, type Dispatch, type Receiver } from './dispatch.ts'

type Headers = Readonly<Record<string, string>>

/** What signs the requests to a provider: an API key, or a token that is renewed before it ends. */
export type Credential = {
  /** The headers that sign; a promise, which rejects with a ProviderFailure, if a token must be fetched. */
  headers(): Headers | Promise<Headers>
  /** The provider rejected the headers: a token is fetched again. Absent for API keys. */
  rejected?(): void
}

/** The credential of an API key. */
export function keyCredential(
  key: string,
  header: string | undefined,
  scheme = 'Bearer',
): Credential {
  const headers = header === undefined ? { authorization: `${scheme} ${key}` } : { [header]: key }
  return { headers: () => headers }
}

/** The credentials of one provider; no other code uses them. */
export type KeyRing = {
  /** Sends a request with the next usable key, or without a key if there are none. */
  dispatch: Dispatch
  /** Whether several keys exist and one of them is usable. */
  hasSpareKey(): boolean
}

type Options = {
  dispatch: Dispatch
  credentials: readonly Credential[]
  /** Text in the body of a 400 that means that the key is invalid. */
  badKeyMark?: string | undefined
  /** Minimum time for which a rejected key is not used. */
  restMs: number
  restMaxMs: number
  monotonic: () => number
}
type Key = { credential: Credential; restsUntil: number }

const refusals = new Set([401, 402, 403, 429])

/**
 * Uses the keys in rotation. A rejected key is not used for a time. If this applies to all keys, the
 * key whose time ends first is used.
 */
export function createKeyRing(options: Options): KeyRing {
  const { credentials, restMs, restMaxMs, monotonic } = options
  const ring: readonly Key[] = credentials.map((credential) => ({ credential, restsUntil: 0 }))
  const [only] = ring
  if (ring.length < 2) {
    if (only === undefined) return { dispatch: options.dispatch, hasSpareKey: () => false }
    return { dispatch: signed(only.credential, options.dispatch), hasSpareKey: () => false }
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
          if (refusals.has(code)) rest(key, retryAfterSeconds({ headers: answered }))
          receiver.head(code, answered)
        },
        data: (piece) => {
          if (status === 400 && badKeyMark !== undefined && piece.includes(badKeyMark)) rest(key)
          receiver.data(piece)
        },
      }
      signed(key.credential, options.dispatch)(request, watched)
    },
  }
}

/** Signs requests; one that waits for a token can be aborted. */
function signed(credential: Credential, dispatch: Dispatch): Dispatch {
  const join = headersJoiner()
  return (request, receiver) => {
    const send = (own: Headers, to: Receiver) =>
      dispatch({ ...request, headers: join(request.headers, own) }, to)
    const headers = credential.headers()
    if (!(headers instanceof Promise)) return send(headers, watching(credential, receiver))
    let isOver = false
    const fail = (error: Error) => {
      if (isOver) return
      isOver = true
      receiver.error(error)
    }
    receiver.start({ pause: () => undefined, resume: () => undefined, abort: fail })
    headers.then((own) => {
      if (!isOver) send(own, watching(credential, receiver))
    }, fail)
  }
}

/** Reports a 401 to the credential, so that the next request gets a new token. */
function watching(credential: Credential, receiver: Receiver): Receiver {
  if (credential.rejected === undefined) return receiver
  return {
    ...receiver,
    head: (status, headers) => {
      if (status === 401) credential.rejected?.()
      receiver.head(status, headers)
    },
  }
}
