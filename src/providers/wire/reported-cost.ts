/** The vendor's charge from its usage, in nano-dollars. */
export type ReportedCost = { reportedNanoUsd: number; upstreamNanoUsd?: number }

/**
 * No call costs more; a larger amount is an error of the vendor, and the catalog's price applies.
 */
const usdMax = 1000
const nanoPerUsd = 1_000_000_000n
/** A double has 17 significant digits; small amounts have leading zeros as well. */
const decimals = 30

/**
 * Converts amounts that a vendor reported, in units of 1/`unitsPerUsd` dollars, to nano-dollars.
 * Uses their decimal text and rounds once, half up. Undefined unless each amount is a plausible
 * number.
 */
export function nanoUsdOf(amounts: readonly unknown[], unitsPerUsd = 1n): number | undefined {
  let sum = 0n
  for (const amount of amounts) {
    if (typeof amount !== 'number' || !(amount >= 0 && amount <= usdMax * Number(unitsPerUsd))) {
      return undefined
    }
    sum += scaled(amount)
  }
  const unit = unitsPerUsd * 10n ** BigInt(decimals)
  return Number((2n * sum * nanoPerUsd + unit) / (2n * unit))
}

/** A non-negative number times ten to the power of `decimals`. */
function scaled(amount: number): bigint {
  const [mantissa = '0', exponent = '0'] = String(amount).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const power = decimals - fraction.length + Number(exponent)
  const digits = BigInt(whole + fraction)
  return power < 0 ? digits / 10n ** BigInt(-power) : digits * 10n ** BigInt(power)
}
