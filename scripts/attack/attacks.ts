import { access } from './access.ts'
import type { Attack } from './attack.ts'
import { fewDescriptors } from './few-descriptors.ts'
import { floods } from './floods.ts'
import { forbiddenAddresses } from './forbidden-addresses.ts'
import { fuzzContract } from './fuzz-contract.ts'
import { fuzzWire } from './fuzz-wire.ts'
import { hardBodies } from './hard-bodies.ts'
import { kill } from './kill.ts'
import { leaving } from './leaving.ts'
import { money } from './money.ts'
import { restart } from './restart.ts'
import { slowRequests } from './slow-requests.ts'
import { tenants } from './tenants.ts'
import { unreadAnswers } from './unread-answers.ts'
import { manyVendorAnswers, vendorAnswers } from './vendor-answers.ts'

/** Every attack, in the order in which they run. */
export const attacks: readonly Attack[] = [
  fuzzContract,
  fuzzWire,
  vendorAnswers,
  forbiddenAddresses,
  access,
  tenants,
  ...unreadAnswers,
  ...slowRequests,
  ...manyVendorAnswers,
  hardBodies,
  ...floods,
  fewDescriptors,
  kill,
  money,
  leaving,
  restart,
]
