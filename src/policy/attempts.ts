import { hash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { GatewayError } from '../core/error.ts'
import { hasRoom, type AttemptNeed, type Counts } from './counts.ts'

/** An attempt to sign in. */
type SignIn = {
  /** The client's network address or network. */
  origin: string
  /** The e-mail of the account; undefined for a one-time link. */
  email?: string
  /** Whether this person has signed in from this origin before. */
  isKnown?: boolean
}

/** Attempts without a wait; many people may share an origin. */
const free = { pair: 5, person: 10, origin: 50, signUp: 10 }
/** How long an attempt waits for earlier attempts; then it is counted in parallel. */
const turnMs = 10_000

/**
 * Slows down password guessing. Attempts from elsewhere do not delay a person at an origin where they have
 * signed in before. Successful sign-ins do not count against other people at the origin.
 */
export function createSignInAttempts(counts: Counts) {
  return {
    /** Counts an attempt; call the returned function if it succeeds. Rejects with `rate_limit_exceeded`. */
    begin: async ({ origin, email, isKnown = false }: SignIn): Promise<() => void> => {
      const place = keyOf('sign-in origin', origin)
      if (email === undefined) {
        await begin(counts, [[place, free.origin]])
        return () => counts.settleAttempt([[place, 'take_back']])
      }
      const pair = keyOf('sign-in pair', origin, email)
      const person = keyOf('sign-in email', email)
      await begin(counts, [
        [place, free.origin],
        [pair, free.pair],
        [person, isKnown ? Number.MAX_SAFE_INTEGER : free.person],
      ])
      return () =>
        counts.settleAttempt([
          [place, 'take_back'],
          [pair, 'forget'],
          [person, 'take_back'],
        ])
    },
    /** Counts a sign-up from an origin, whether or not the account is created. Rejects as `begin` does. */
    signUp: (origin: string) => begin(counts, [[keyOf('sign-up', origin), free.signUp]]),
  }
}

/**
 * Slows down guessing of OAuth client secrets. Attempts from elsewhere do not delay a client. All processes
 * of a service sign in when it starts: attempts of one client from one origin run in sequence, because
 * pending attempts count until they succeed and would otherwise refuse the rest.
 */
export function createClientAttempts(counts: Counts) {
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
    /**
     * Counts an attempt before its secret is checked. Rejects with `rate_limit_exceeded` while this origin must
     * wait, for all clients or for this client. Call the returned function with whether the secret was right,
     * or with undefined if the secret was not checked: then the attempt does not count.
     */
    begin: async ({ origin, clientId }: { origin: string; clientId: string }) => {
      const place = keyOf('client origin', origin)
      const pair = keyOf('client pair', origin, clientId)
      const endTurn = await takeTurn(pair)
      try {
        await begin(counts, [
          [place, free.origin],
          [pair, free.pair],
        ])
      } catch (error) {
        endTurn()
        throw error
      }
      return (isClient?: boolean): void => {
        if (isClient !== false) {
          counts.settleAttempt([
            [pair, isClient === true ? 'forget' : 'take_back'],
            [place, 'take_back'],
          ])
        }
        endTurn()
      }
    },
  }
}

type RegistrationLimits = {
  /** Registrations per hour from one origin. */
  perAddressMax: number
  /** Registrations per hour from all origins. */
  totalMax: number
}

/**
 * Counts registrations of OAuth clients, by their origin (`originOf`) and together. The returned function
 * rejects with `rate_limit_exceeded`; a registration that it refuses is not counted.
 */
export function createRegistrationLimit(
  counts: Counts,
  limits: () => RegistrationLimits,
): (origin: string) => Promise<void> {
  return async (origin) => {
    const { perAddressMax, totalMax } = limits()
    const windows = [
      { of: { key: `registrations:${keyOf(origin)}`, limit: perAddressMax }, points: 1 },
      { of: { key: 'registrations', limit: totalMax }, points: 1 },
    ]
    const needs = { windows, windowMs: 3_600_000, calls: [], timeoutMs: 0 }
    const { end, windows: states, processes } = await counts.take(needs)
    if (end !== undefined) return
    const full = states.filter(({ used }, index) => !hasRoom(windows[index]!, used, processes))
    const leftMs = Math.max(...full.map((state) => state.leftMs))
    throw new GatewayError(
      'rate_limit_exceeded',
      'Too many clients were registered within the hour. Try again later.',
      { retryAfterSeconds: Math.ceil(leftMs / 1000) },
    )
  }
}

async function begin(counts: Counts, needs: readonly AttemptNeed[]): Promise<void> {
  const leftMs = await counts.attempt(needs)
  if (leftMs === 0) return
  const retryAfterSeconds = Math.ceil(leftMs / 1000)
  const text = `There were too many attempts. Try again in ${retryAfterSeconds} s.`
  throw new GatewayError('rate_limit_exceeded', text, { retryAfterSeconds })
}

/** A digest, so that Redis has no e-mail and no address. */
function keyOf(...parts: readonly string[]): string {
  return hash('sha256', parts.join(' '), 'base64url').slice(0, 22)
}
