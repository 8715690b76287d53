const grouped = new Intl.NumberFormat('en-US')

/**
 * Formats an exact decimal amount such as `12.000000001`: two decimals, and below a cent the first two
 * significant digits, so that a small amount is never shown as $0.00.
 */
export function shortUsd(usd: string): string {
  const [whole = '0', decimals = ''] = usd.split('.')
  const zeros = decimals.length - decimals.replace(/^0+/, '').length
  const places = BigInt(whole) > 0n || zeros < 2 ? 2 : Math.min(zeros + 2, 9)
  const unit = 10n ** BigInt(9 - places)
  const nano = BigInt(whole) * nanoPerUsd + BigInt(decimals.padEnd(9, '0').slice(0, 9))
  const rounded = ((nano + unit / 2n) / unit) * unit
  return exactUsd(`${rounded / nanoPerUsd}.${String(rounded % nanoPerUsd).padStart(9, '0')}`)
}

/** Formats an estimate in dollars with two significant digits, and no fraction of a cent from one cent on. */
export function roughUsd(usd: number): string {
  const rounded = Number(usd.toPrecision(2))
  return rounded < 10 ? shortUsd(rounded.toFixed(9)) : `$${grouped.format(rounded)}`
}

/** Formats an amount with all of its decimals, and at least two. */
export function exactUsd(usd: string): string {
  const [whole = '0', decimals = ''] = usd.split('.')
  const text = decimals.replace(/0+$/, '').padEnd(2, '0')
  return `$${grouped.format(BigInt(whole))}.${text}`
}

const nanoPerUsd = 1_000_000_000n

/** Number of decimals of the longest amount, by which a column of amounts is aligned. */
export function placesOf(amounts: readonly (string | null | undefined)[]): number {
  return Math.max(2, ...amounts.map((usd) => decimalsOf(exactUsd(usd ?? '0'))))
}

/** Number of decimals in a formatted amount. */
export function decimalsOf(text: string): number {
  return text.length - text.indexOf('.') - 1
}

/** Formats a count: `1,234`, or `12.3M` from 100,000 on. */
export function shortCount(count: number): string {
  return count < 100_000 ? grouped.format(count) : compact.format(count)
}

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
