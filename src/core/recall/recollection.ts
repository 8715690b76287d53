import { createFingerprint, type Fingerprint } from './fingerprint.ts'
import { createInFlight, type Claim, type InFlight } from './in-flight.ts'
import type { Remembered } from './remembered.ts'

/** Detects identical calls; it survives a reload of the settings. */
export type Recollection = { fingerprint: Fingerprint; inFlight: InFlight<Remembered> }

type Options = {
  /** The key for `createFingerprint`. */
  fingerprintKey: Buffer
  /** Coordinates with other processes; absent when they share no answers. */
  claim?: ((key: string) => Claim<Remembered>) | undefined
}

export function createRecollection({ fingerprintKey, claim }: Options): Recollection {
  return { fingerprint: createFingerprint(fingerprintKey), inFlight: createInFlight(claim) }
}
