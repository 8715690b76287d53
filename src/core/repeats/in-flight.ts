import type { Delivery } from '../call.ts'
import type { CallContext } from '../caller.ts'
import { GatewayError, toGatewayError } from '../error.ts'
import { wasCancelled } from '../failure.ts'
import type { CachedAnswer } from './cached-answer.ts'
import { createFingerprint, type Fingerprint } from './fingerprint.ts'

/** Calls in flight by cache key; identical calls wait for their answer. */
export type InFlight<T> = {
  /**
   * Waits for the answer in flight; undefined when there is none. Rejects when the answer failed,
   * or with the signal's reason.
   */
  find(key: string, signal: AbortSignal): Promise<Joined<T>> | undefined
  /** Makes identical calls wait until this call succeeds or fails. */
  begin(key: string): Making<T>
}
/** The right to make an answer; its holder must call `succeed` or `fail`, which releases waiting calls. */
export type Making<T> = {
  /**
   * Called before an answer is made: waits for the answer of another process. Resolves with undefined when
   * this process must make the answer; rejects with the signal's reason. Undefined when there are no other
   * processes.
   */
  elsewhere(signal: AbortSignal): Promise<T | undefined> | undefined
  /** `kept` resolves with whether the shared cache stored the answer for other processes. */
  succeed(answer: T, kept?: Promise<boolean>): void
  fail(error: unknown): void
}
/** Coordinates processes that share answers, so that only one process makes an answer. */
export type Claim<T> = {
  /** The answer of another process; undefined when this process must make the answer. Never rejects. */
  elsewhere: Promise<T | undefined>
  /** `kept` as in `Making`; never rejects. */
  succeed(answer: T, kept: Promise<boolean> | undefined): void
  /** Gives up the claim, so that a waiting process makes the answer. */
  leave(): void
}
/** The result for a waiting call: the answer, or the right to make the answer after its maker has left. */
export type Joined<T> = { answer: T; making?: never } | { answer?: never; making: Making<T> }

function createInFlight<T>(claim?: (key: string) => Claim<T>): InFlight<T> {
  const running = new Map<string, Shared<T>>()
  return {
    find: (key, signal) => running.get(key)?.wait(signal),
    begin: (key) => {
      const claimKey = claim === undefined ? undefined : () => claim(key)
      const shared = new Shared<T>(() => {
        if (running.get(key) === shared) running.delete(key)
      }, claimKey)
      // A call that did not join the call in flight makes a private answer.
      if (!running.has(key)) running.set(key, shared)
      return shared
    },
  }
}

/** Most answers have no waiters, so promises are created only for calls that wait. */
class Shared<T> implements Making<T> {
  readonly #onEnd: () => void
  readonly #claimKey: (() => Claim<T>) | undefined
  #waiting: Set<PromiseWithResolvers<Joined<T>>> | undefined
  /** The claim of this process, passed from one maker to the next maker. */
  #claim: Claim<T> | undefined

  constructor(onEnd: () => void, claimKey: (() => Claim<T>) | undefined) {
    this.#onEnd = onEnd
    this.#claimKey = claimKey
  }

  elsewhere(signal: AbortSignal): Promise<T | undefined> | undefined {
    if (this.#claimKey === undefined) return undefined
    this.#claim ??= this.#claimKey()
    return unlessAborted(this.#claim.elsewhere, signal)
  }

  wait(signal: AbortSignal): Promise<Joined<T>> {
    const waiting = (this.#waiting ??= new Set())
    const waiter = Promise.withResolvers<Joined<T>>()
    waiting.add(waiter)
    // The maker is not in the set of waiting calls: when its caller leaves, `fail` passes the work on.
    const leave = () => {
      if (waiting.delete(waiter)) waiter.reject(signal.reason)
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    return waiter.promise.finally(() => signal.removeEventListener('abort', leave))
  }

  succeed(answer: T, kept?: Promise<boolean>): void {
    this.#onEnd()
    for (const { resolve } of this.#waiting ?? []) resolve({ answer })
    this.#claim?.succeed(answer, kept)
  }

  fail(error: unknown): void {
    // When the error concerns only this caller, one waiting call continues; the others keep waiting.
    const [next] = concernsCallerAlone(error) ? (this.#waiting ?? []) : []
    if (next !== undefined) {
      this.#waiting?.delete(next)
      next.resolve({ making: this })
      return
    }
    this.#onEnd()
    for (const { reject } of this.#waiting ?? []) reject(error)
    this.#claim?.leave()
  }
}

/** Waits for a promise; rejects with the signal's reason when the signal aborts first. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function concernsCallerAlone(error: unknown): boolean {
  const isUnpaid = error instanceof GatewayError && error.progress.budget !== undefined
  return isUnpaid || wasCancelled(error)
}

/** Detects identical calls; kept when the settings are reloaded. */
export type Deduplication = { fingerprint: Fingerprint; inFlight: InFlight<CachedAnswer> }

/** `claim` coordinates with other processes; absent when they share no answers. */
export function createDeduplication(
  fingerprintKey: Buffer,
  claim?: (key: string) => Claim<CachedAnswer>,
): Deduplication {
  return { fingerprint: createFingerprint(fingerprintKey), inFlight: createInFlight(claim) }
}

export type SharerParts = {
  /**
   * Stores an answer in the response cache; `ttlMs` overrides the default lifetime. Resolves with whether
   * the shared cache stored the answer; undefined without a shared cache.
   */
  writeCache: (
    key: string,
    answer: CachedAnswer,
    ttlMs: number | undefined,
  ) => Promise<boolean> | undefined
  /** Called for an error after the answer was sent. */
  onFault: (error: unknown) => void
}

/**
 * Passes an answer to the calls that joined this call, and stores the answer in the cache. The answer has
 * been sent by then: an error is reported, and neither ends the process nor blocks the joined calls.
 */
export function answerSharer(
  { writeCache, onFault }: SharerParts,
  { cache }: CallContext,
  key: string,
  making: Making<CachedAnswer> | undefined,
): Delivery['share'] {
  if (making === undefined && !cache.mayStore) return undefined
  return (pack) => {
    try {
      const answer = pack()
      let kept: Promise<boolean> | undefined
      try {
        if (cache.mayStore) kept = writeCache(key, answer, cache.ttlMs)
      } finally {
        making?.succeed(answer, kept)
      }
    } catch (fault) {
      making?.fail(toGatewayError(fault))
      onFault(fault)
    }
  }
}
