import { createFingerprint, type Fingerprint } from './fingerprint.ts'
import { createInFlight, type InFlight } from './in-flight.ts'
import type { Remembered } from './remembered.ts'

/** By what calls recognise each other; it outlives the settings that they began with. */
export type Recollection = { fingerprint: Fingerprint; inFlight: InFlight<Remembered> }

/** `key` is that of `createFingerprint`. */
export function createRecollection(key: Buffer): Recollection {
  return { fingerprint: createFingerprint(key), inFlight: createInFlight() }
}
