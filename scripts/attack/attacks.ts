import type { Attack } from './attack.ts'
import { fuzzContract } from './fuzz-contract.ts'
import { fuzzWire } from './fuzz-wire.ts'
import { hardBodies } from './hard-bodies.ts'
import { slowRequests } from './slow-requests.ts'
import { unreadAnswers } from './unread-answers.ts'
import { manyVendorAnswers, vendorAnswers } from './vendor-answers.ts'

/** Every attack, in the order in which they run. */
export const attacks: readonly Attack[] = [
  fuzzContract,
  fuzzWire,
  ...unreadAnswers,
  ...slowRequests,
  vendorAnswers,
  ...manyVendorAnswers,
  hardBodies,
]
