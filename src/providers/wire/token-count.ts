/** No call has more tokens: a larger count is an error of the vendor. */
const tokensMax = 1e12

/** A vendor's count of tokens; 0 for anything that is none. */
export function tokenCount(value: unknown): number {
  const isCount = typeof value === 'number' && Number.isInteger(value)
  return isCount && value >= 0 && value <= tokensMax ? value : 0
}
