/**
 * The name that a misspelled name probably means: at most one letter in four is missing, wrong, or swapped.
 * A plural in `es` counts as one letter. Undefined if no name is similar.
 */
export function nearName(name: string, names: readonly string[]): string | undefined {
  // Longer names are unlikely to be typos, and the comparison takes quadratic time.
  if (name.length > givenLengthMax) return undefined
  const plain = name.toLowerCase()
  let best: string | undefined
  let least = Infinity
  for (const name of names) {
    if (name === `${plain}es` || plain === `${name}es`) return name
    const most = Math.min(slipsMax, Math.floor(name.length / lettersPerSlip))
    // Each missing or extra letter counts as one error.
    if (most === 0 || Math.abs(name.length - plain.length) > most) continue
    const slips = distance(plain, name.toLowerCase())
    if (slips > most || slips >= least || differInShortWord(plain, name)) continue
    best = name
    least = slips
  }
  return best
}

const givenLengthMax = 100
const lettersPerSlip = 4
const slipsMax = 3

/** Words of one or two letters must be equal: `top_k` is not a typo of `top_p`. */
function differInShortWord(text: string, name: string): boolean {
  const [left, right] = [text.split('_'), name.split('_')]
  if (left.length !== right.length) return false
  return left.some((word, at) => word !== right[at] && right[at]!.length < 3)
}

/** The optimal string alignment distance (Damerau and Levenshtein). */
function distance(left: string, right: string): number {
  let before: number[] = []
  let row = Array.from({ length: right.length + 1 }, (_, at) => at)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same)
      const isSwap = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]
      if (isSwap) least = Math.min(least, before[j - 2]! + 1)
      next.push(least)
    }
    ;[before, row] = [row, next]
  }
  return row[right.length]!
}
