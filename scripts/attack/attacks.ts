import type { Attack } from './attack.ts'
import { fuzzContract } from './fuzz-contract.ts'
import { fuzzWire } from './fuzz-wire.ts'

/** Every attack, in the order in which they run. */
export const attacks: readonly Attack[] = [fuzzContract, fuzzWire]
