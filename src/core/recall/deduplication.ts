import { createFingerprint, type Fingerprint } from './fingerprint.ts'
import { createInFlight, type Claim, type InFlight } from './in-flight.ts'
import type { CachedAnswer } from './cached-answer.ts'

/** Detects identical calls; kept when the settings are reloaded. */
export type Deduplication = { fingerprint: Fingerprint; inFlight: InFlight<CachedAnswer> }

type Options = {
  fingerprintKey: Buffer
  /** Coordinates with other processes; absent when they share no answers. */
  claim?: ((key: string) => Claim<CachedAnswer>) | undefined
}

export function createDeduplication({ fingerprintKey, claim }: Options): Deduplication {
  return { fingerprint: createFingerprint(fingerprintKey), inFlight: createInFlight(claim) }
}
