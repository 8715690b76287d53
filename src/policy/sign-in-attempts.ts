import { beginAttempt, type AttemptNeed, type Attempts } from './attempts.ts'

/** An attempt to come in. */
type Attempt = {
  /** The network address, or the network, that it comes from. */
  origin: string
  /** Whom the password would be of; undefined for a one-time link. */
  email?: string
  /** Whether that person has been signed in from there. */
  isKnown?: boolean
}

export type SignInAttempts = {
  /**
   * Counts an attempt; the returned function is called when it succeeded. Rejects with
   * `rate_limit_exceeded`.
   */
  begin(attempt: Attempt): Promise<() => void>
  /** Counts a new account of an address, whether or not it comes to be. Rejects as `begin` does. */
  signUp(origin: string): Promise<void>
}

/** Of one person from one place, of one person from anywhere, of one place, which may be many people. */
const freeByPlace = { pair: 5, email: 10, origin: 50, signUp: 10 }

/**
 * Slows down who guesses passwords. What strangers try does not slow a person at a place where they
 * have been signed in, and sign-ins that succeed are not counted against the others of the place.
 */
export function createSignInAttempts(attempts: Attempts): SignInAttempts {
  return {
    begin: async ({ origin, email, isKnown = false }) => {
      const place = `sign-in origin ${origin}`
      const pair = `sign-in pair ${origin} ${email}`
      const person = `sign-in email ${email}`
      const ofPerson: AttemptNeed[] = [
        [pair, freeByPlace.pair, 1],
        [person, isKnown ? Number.MAX_SAFE_INTEGER : freeByPlace.email, 1],
      ]
      const isOfPerson = email !== undefined
      await beginAttempt(attempts, [
        [place, freeByPlace.origin, 1],
        ...(isOfPerson ? ofPerson : []),
      ])
      return () => {
        attempts.settle([
          [place, -1],
          ...(isOfPerson
            ? ([
                [pair, null],
                [person, -1],
              ] as const)
            : []),
        ])
      }
    },
    signUp: (origin) => beginAttempt(attempts, [[`sign-up ${origin}`, freeByPlace.signUp, 1]]),
  }
}
