import { usdText } from '../core/price.ts'
import type { Receipt } from '../core/receipt.ts'

/** What a call cost, in words. */
export function costText({ cost, mode }: Receipt): string {
  const amount = cost.nanoUsd === null ? 'at an unknown cost' : `for $${usdText(cost.nanoUsd)}`
  if (cost.status === 'cached') return 'at no cost, from the cache'
  const estimated = cost.status === 'estimated' ? ' (estimated)' : ''
  return `${amount}${estimated}${mode === 'test' ? ' (test key: not charged)' : ''}`
}

/** What was not done as it was asked for, a line each. */
export function warningLines({ warnings }: Receipt): string[] {
  return warnings.map(({ param, reason }) => `Note on ${param}: ${reason}`)
}
