const grouped = new Intl.NumberFormat('en-US')

/**
 * Dollars for people, from an exact decimal text such as `12.000000001`: at least two decimals, and of
 * what is below a cent its first two digits that are not zero, rounded up so that nothing costs nothing.
 */
export function shortUsd(usd: string): string {
  const [whole = '0', decimals = ''] = usd.split('.')
  const dollars = BigInt(whole)
  const nano = BigInt(decimals.padEnd(9, '0').slice(0, 9))
  if (dollars > 0n || nano >= 10_000_000n) return rounded(dollars * nanoPerUsd + nano, 2)
  if (nano === 0n) return '$0.00'
  const zeros = decimals.length - decimals.replace(/^0+/, '').length
  return rounded(nano, Math.min(zeros + 2, 9))
}

/** The same with all of its decimals, and at least two. */
export function exactUsd(usd: string): string {
  const [whole = '0', decimals = ''] = usd.split('.')
  const text = decimals.replace(/0+$/, '').padEnd(2, '0')
  return `$${grouped.format(BigInt(whole))}.${text}`
}

const nanoPerUsd = 1_000_000_000n

function rounded(nano: bigint, places: number): string {
  const unit = 10n ** BigInt(9 - places)
  const isSmall = nano < 10_000_000n
  const units = isSmall ? (nano + unit - 1n) / unit : (nano + unit / 2n) / unit
  const perUsd = 10n ** BigInt(places)
  const decimals = String(units % perUsd)
    .padStart(places, '0')
    .replace(/(?<=\.?\d{2,})0+$/, '')
  return `$${grouped.format(units / perUsd)}.${decimals.padEnd(2, '0')}`
}

/** A count for people: 1,234 or, of what is long, 12.3M. */
export function shortCount(count: number): string {
  return count < 100_000 ? grouped.format(count) : compact.format(count)
}

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
