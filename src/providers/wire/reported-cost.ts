/** The members of a usage that tell what the vendor charges, in nano-dollars. */
export type ReportedCost = { reportedNanoUsd: number; upstreamNanoUsd?: number }

/** No call costs more: a larger figure is an error of the vendor, and the catalog's price counts. */
const usdMax = 1000
const nanoPerUsd = 1_000_000_000n
/** A double has 17 significant digits; the smallest amounts that matter have some zeros before. */
const decimals = 30

/**
 * Nano-dollars of amounts that a vendor reported, of which `unitsPerUsd` are a dollar. Read from
 * their decimal text, as the vendor wrote them, and rounded once, half up. Undefined unless each of
 * them is a number that a call can cost.
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

/** A number that is not negative, times ten to the power of `decimals`. */
function scaled(amount: number): bigint {
  const [mantissa = '0', exponent = '0'] = String(amount).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const power = decimals - fraction.length + Number(exponent)
  const digits = BigInt(whole + fraction)
  return power < 0 ? digits / 10n ** BigInt(-power) : digits * 10n ** BigInt(power)
}
