const grouped = new Intl.NumberFormat('en-US')

/**
 * A sum for people, from an exact decimal text such as `12.000000001`: two decimals, and below a cent the
 * first two digits that are not zero, so that nothing costs nothing.
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

/** The same with all of its decimals, and at least two. */
export function exactUsd(usd: string): string {
  const [whole = '0', decimals = ''] = usd.split('.')
  const text = decimals.replace(/0+$/, '').padEnd(2, '0')
  return `$${grouped.format(BigInt(whole))}.${text}`
}

const nanoPerUsd = 1_000_000_000n

/** How many decimals the longest of these amounts has: a column of them is aligned by it. */
export function placesOf(amounts: readonly (string | null | undefined)[]): number {
  return Math.max(2, ...amounts.map((usd) => decimalsOf(exactUsd(usd ?? '0'))))
}

/** The decimals of an amount as it is shown. */
export function decimalsOf(text: string): number {
  return text.length - text.indexOf('.') - 1
}

/** A count for people: 1,234 or, of what is long, 12.3M. */
export function shortCount(count: number): string {
  return count < 100_000 ? grouped.format(count) : compact.format(count)
}

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
