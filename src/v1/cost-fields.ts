import type { Receipt } from '../core/receipt.ts'

/** The cost fields of every `usage` below /v1: `cost` in US dollars, null when it is unknown. */
export function costFields(cost: Receipt['cost']) {
  return {
    cost: cost.nanoUsd === null ? null : cost.nanoUsd / 1e9,
    cost_status: cost.status,
    cost_details: cost.details,
  }
}
