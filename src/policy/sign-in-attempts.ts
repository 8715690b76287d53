import { createAttempts } from './attempts.ts'

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
   * Counts an attempt; the returned function is called when it succeeded. Throws
   * `rate_limit_exceeded`.
   */
  begin(attempt: Attempt): () => void
  /** Counts a new account of an address, whether or not it comes to be. Throws `rate_limit_exceeded`. */
  signUp(origin: string): void
}

/** Of one person from one place, of one person from anywhere, of one place, which may be many people. */
const freeByPlace = { pair: 5, email: 20, origin: 50, signUp: 10 }

/**
 * Slows down who guesses passwords. What strangers try does not slow a person at a place where they
 * have been signed in, and sign-ins that succeed are not counted against the others of the place.
 */
export function createSignInAttempts(limits: {
  entriesMax: number
  monotonic: () => number
}): SignInAttempts {
  const pairs = createAttempts({ ...limits, free: freeByPlace.pair })
  const emails = createAttempts({ ...limits, free: freeByPlace.email })
  const origins = createAttempts({ ...limits, free: freeByPlace.origin })
  const signUps = createAttempts({ ...limits, free: freeByPlace.signUp })
  return {
    begin: ({ origin, email, isKnown = false }) => {
      const pair = `${origin} ${email}`
      origins.assertMay(origin)
      if (email !== undefined) {
        pairs.assertMay(pair)
        if (!isKnown) emails.assertMay(email)
        pairs.count(pair)
        emails.count(email)
      }
      origins.count(origin)
      return () => {
        origins.discount(origin)
        if (email === undefined) return
        pairs.forget(pair)
        emails.discount(email)
      }
    },
    signUp: (origin) => {
      signUps.assertMay(origin)
      signUps.count(origin)
    },
  }
}
