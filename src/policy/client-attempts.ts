import { createAttempts } from './attempts.ts'

export type ClientAttempts = {
  /**
   * Throws `rate_limit_exceeded` while this address has to wait, with any client or with this one.
   * The returned function takes note of whether the secret was the client's.
   */
  begin(attempt: { origin: string; clientId: string }): (isClient: boolean) => void
}

/** Of one client from one place, and of one place, which may be many services. */
const freeByPlace = { pair: 5, origin: 50 }

/**
 * Slows down who guesses secrets of OAuth clients. What others try elsewhere does not slow a client,
 * and only what failed is counted: the processes of a service all sign in when it starts.
 */
export function createClientAttempts(limits: {
  entriesMax: number
  monotonic: () => number
}): ClientAttempts {
  const pairs = createAttempts({ ...limits, free: freeByPlace.pair })
  const origins = createAttempts({ ...limits, free: freeByPlace.origin })
  return {
    begin: ({ origin, clientId }) => {
      const pair = `${origin} ${clientId}`
      origins.assertMay(origin)
      pairs.assertMay(pair)
      return (isClient) => {
        if (isClient) return pairs.forget(pair)
        pairs.count(pair)
        origins.count(origin)
      }
    },
  }
}
