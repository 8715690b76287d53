import { createFingerprint, type Fingerprint } from './fingerprint.ts'
import { createInFlight, type Claim, type InFlight } from './in-flight.ts'
import type { Remembered } from './remembered.ts'

/** By what calls recognise each other; it outlives the settings that they began with. */
export type Recollection = { fingerprint: Fingerprint; inFlight: InFlight<Remembered> }

type Options = {
  /** Of `createFingerprint`. */
  fingerprintKey: Buffer
  /** Where other processes share their answers. */
  claim?: ((key: string) => Claim<Remembered>) | undefined
}

export function createRecollection({ fingerprintKey, claim }: Options): Recollection {
  return { fingerprint: createFingerprint(fingerprintKey), inFlight: createInFlight(claim) }
}
