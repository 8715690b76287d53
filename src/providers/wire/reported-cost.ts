/** The vendor's charge from its usage, in nano-dollars. */
export type ReportedCost = { reportedNanoUsd: number; upstreamNanoUsd?: number }

/** Limit of a plausible charge. The catalog's price replaces a larger amount, an error of the vendor. */
const usdMax = 1000
const nanoPerUsd = 1_000_000_000n
/** Decimals of an amount: up to 17 significant digits after leading zeros. */
const decimals = 30

/** The charge of one amount; undefined if it is not plausible. */
export function costOf(amount: unknown, unitsPerUsd = 1n): ReportedCost | undefined {
  const reportedNanoUsd = nanoUsdOf([amount], unitsPerUsd)
  return reportedNanoUsd === undefined ? undefined : { reportedNanoUsd }
}

/**
 * Converts amounts that a vendor reported, in units of 1/`unitsPerUsd` dollars, to nano-dollars.
 * Uses the decimal text of the amounts and rounds the sum, half up. Undefined unless each amount is
 * a plausible number.
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
