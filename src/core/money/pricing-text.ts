import type { components } from '../../../generated/types.ts'
import { decimalText, readDecimal } from './price.ts'
import { onefold, sumOf, type CostLine, type Paid, type Pricing } from './pricing.ts'

/** A pricing as a row of the ledger keeps it; what is as usual is left out. */
export type KeptPricing = Omit<Pricing, 'prices' | 'multiplier'> & {
  /** Decimal texts of dollars for one unit; null when no price is known. */
  prices: Partial<Record<Paid, string>> | null
  /** A decimal text. */
  multiplier?: string
}

/** Digits behind the point of the price of one unit, and of a multiplier. */
export const priceDecimals = 15
export const multiplierDecimals = 18

/** The JSON that a row keeps of a pricing (src/storage/README.md, `pricing`). */
export function pricingText({ prices, multiplier, ...more }: Pricing): string {
  const kept: KeptPricing = { prices: prices && priceTexts(prices) }
  if (multiplier !== onefold) kept.multiplier = decimalText(multiplier, multiplierDecimals)
  return JSON.stringify(Object.assign(kept, more))
}

function priceTexts(prices: NonNullable<Pricing['prices']>): KeptPricing['prices'] {
  const kept: Partial<Record<Paid, string>> = {}
  for (const name in prices) {
    // `prices` has no other keys.
    const what = name as Paid
    kept[what] = decimalText(prices[what]!, priceDecimals)
  }
  return kept
}

/** What `pricingText` wrote. */
export function readPricing(text: string): Pricing {
  // Only `pricingText` writes the column.
  const { prices, multiplier, ...more } = JSON.parse(text) as KeptPricing
  const read = Object.entries(prices ?? {}).map(
    ([what, price]) => [what, readDecimal(price, priceDecimals)] as const,
  )
  return {
    ...more,
    prices: prices && Object.fromEntries(read),
    multiplier: multiplier === undefined ? onefold : readDecimal(multiplier, multiplierDecimals),
  }
}

/** The lines of a cost in the contract's form; `multiplier` is a part of each of their prices. */
export function linesForm(
  lines: readonly CostLine[],
  multiplier: bigint,
): { lines: components['schemas']['CostLine'][]; exact_usd: string; multiplier: string } {
  const usd = (amount: bigint) =>
    decimalText(amount * multiplier, priceDecimals + multiplierDecimals)
  return {
    lines: lines.map(({ what, units, price }) => ({
      what,
      units,
      unit_price: usd(price),
      amount: usd(price * BigInt(units)),
    })),
    exact_usd: usd(sumOf(lines)),
    multiplier: decimalText(multiplier, multiplierDecimals),
  }
}
