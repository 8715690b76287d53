/** No call has more tokens: a larger count is an error of the vendor. */
const tokensMax = 1e12

/** Whether a vendor's value is a count of tokens. */
export function isTokenCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= tokensMax
}

/** A vendor's count of tokens; 0 for anything that is none. */
export function tokenCount(value: unknown): number {
  return isTokenCount(value) ? value : 0
}
