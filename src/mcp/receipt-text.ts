import { usdText } from '../core/price.ts'
import type { Receipt } from '../core/receipt.ts'

/** The cost of a call, such as `for $0.04 (estimated)`. */
export function costText({ cost, mode }: Receipt): string {
  const amount = cost.nanoUsd === null ? 'at an unknown cost' : `for $${usdText(cost.nanoUsd)}`
  if (cost.status === 'cached') return 'at no cost, from the cache'
  const estimated = cost.status === 'estimated' ? ' (estimated)' : ''
  return `${amount}${estimated}${mode === 'test' ? ' (test key: not charged)' : ''}`
}

/** One line for each parameter that was adjusted or ignored. */
export function warningLines({ warnings }: Receipt): string[] {
  return warnings.map(({ param, reason }) => `Note on ${param}: ${reason}`)
}
