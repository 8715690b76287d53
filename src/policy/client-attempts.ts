import { setTimeout } from 'node:timers/promises'
import { beginAttempt, type Attempts } from './attempts.ts'

export type ClientAttempts = {
  /**
   * Counts an attempt before its secret is checked. Rejects with `rate_limit_exceeded` while this address has
   * to wait, with any client or with this one. The returned function takes note of whether the secret was the
   * client's; undefined where it was not checked, which gives the attempt back.
   */
  begin(attempt: Attempt): Promise<(isClient: boolean | undefined) => void>
}
type Attempt = { origin: string; clientId: string }

/** Of one client from one place, and of one place, which may be many services. */
const freeByPlace = { pair: 5, origin: 50 }
/** How long an attempt waits for the ones before it; it is counted whether or not they have ended. */
const turnMs = 10_000

/**
 * Slows down who guesses secrets of OAuth clients. What others try elsewhere does not slow a client. All
 * processes of a service sign in when it starts: attempts of one client from one place wait for each other,
 * so that those under way, which count until they succeed, do not refuse the others.
 */
export function createClientAttempts(attempts: Attempts): ClientAttempts {
  const turns = new Map<string, Promise<void>>()
  const takeTurn = async (pair: string): Promise<() => void> => {
    const before = turns.get(pair)
    const { promise, resolve } = Promise.withResolvers<void>()
    turns.set(pair, promise)
    if (before !== undefined) {
      await Promise.race([before, setTimeout(turnMs, undefined, { ref: false })])
    }
    return () => {
      resolve()
      if (turns.get(pair) === promise) turns.delete(pair)
    }
  }
  return {
    begin: async ({ origin, clientId }) => {
      const place = `client origin ${origin}`
      const pair = `client pair ${origin} ${clientId}`
      const endTurn = await takeTurn(pair)
      try {
        await beginAttempt(attempts, [
          [place, freeByPlace.origin, 1],
          [pair, freeByPlace.pair, 1],
        ])
      } catch (error) {
        endTurn()
        throw error
      }
      return (isClient) => {
        if (isClient !== false) {
          attempts.settle([
            [pair, isClient === true ? null : -1],
            [place, -1],
          ])
        }
        endTurn()
      }
    },
  }
}
