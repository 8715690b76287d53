import type { Catalog } from '../core/model.ts'
import { usdText } from '../core/price.ts'
import type { Receipt } from '../core/receipt.ts'
import { endText } from './model-end.ts'

/** What a receipt says, in words for the model that called the tool. */
export type ReceiptText = {
  /** The cost of a call, such as `for $0.04 (estimated)`. */
  cost(receipt: Receipt): string
  /** One line for each parameter that was adjusted or ignored, and for a model that will end. */
  notes(receipt: Receipt): string[]
}

export function createReceiptText({ describe }: Pick<Catalog, 'describe'>): ReceiptText {
  return {
    cost: costText,
    notes: ({ warnings, model }) => {
      const end = endText(describe(model))
      return [
        ...warnings.map(({ param, reason }) => `Note on ${param}: ${reason}`),
        ...(end === undefined ? [] : [`Note on model: ${model.row.id} is ${end}.`]),
      ]
    },
  }
}

function costText({ cost, mode }: Receipt): string {
  if (cost.status === 'cached') return 'at no cost, from the cache (fresh: true makes another)'
  const amount = cost.nanoUsd === null ? 'at an unknown cost' : `for $${usdText(cost.nanoUsd)}`
  const estimated = cost.status === 'estimated' ? ' (estimated)' : ''
  return `${amount}${estimated}${mode === 'test' ? ' (test key: not charged)' : ''}`
}
