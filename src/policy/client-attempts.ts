import { beginAttempt, type Attempts } from './attempts.ts'

export type ClientAttempts = {
  /**
   * Rejects with `rate_limit_exceeded` while this address has to wait, with any client or with this one.
   * The returned function takes note of whether the secret was the client's.
   */
  begin(attempt: { origin: string; clientId: string }): Promise<(isClient: boolean) => void>
}

/** Of one client from one place, and of one place, which may be many services. */
const freeByPlace = { pair: 5, origin: 50 }

/**
 * Slows down who guesses secrets of OAuth clients. What others try elsewhere does not slow a client,
 * and only what failed is counted: the processes of a service all sign in when it starts.
 */
export function createClientAttempts(attempts: Attempts): ClientAttempts {
  return {
    begin: async ({ origin, clientId }) => {
      const place = `client origin ${origin}`
      const pair = `client pair ${origin} ${clientId}`
      await beginAttempt(attempts, [
        [place, freeByPlace.origin, 0],
        [pair, freeByPlace.pair, 0],
      ])
      return (isClient) => {
        if (isClient) return attempts.settle([[pair, null]])
        attempts.settle([
          [pair, 1],
          [place, 1],
        ])
      }
    },
  }
}
