import { createFingerprint, type Fingerprint } from './fingerprint.ts'
import { createInFlight, type InFlight } from './in-flight.ts'
import type { Remembered } from './remembered.ts'

/** By what calls recognise each other; it outlives the settings that they began with. */
export type Recollection = { fingerprint: Fingerprint; inFlight: InFlight<Remembered> }

export function createRecollection(): Recollection {
  return { fingerprint: createFingerprint(), inFlight: createInFlight() }
}
