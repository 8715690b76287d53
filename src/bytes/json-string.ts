const [quote, backslash, colon, space] = [0x22, 0x5c, 0x3a, 0x20]

/** The first bytes of a string are compared one by one, since `indexOf` is slower on short strings. */
const nearBytes = 64

/** The end of the JSON string that opens at `start`: its unescaped closing quote, or the end of `bytes`. */
export function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1
  for (;;) {
    for (const near = Math.min(at + nearBytes, bytes.length); at < near; at++) {
      if (bytes[at] === quote) return at
      if (bytes[at] === backslash) at++
    }
    const end = bytes.indexOf(quote, at)
    if (end < 0) return bytes.length
    let first = end
    while (first > at && bytes[first - 1] === backslash) first--
    if ((end - first) % 2 === 0) return end
    at = end + 1
  }
}

/** Whether the JSON string that ends before `at` is a member name. */
export function isName(bytes: Buffer, at: number): boolean {
  let next = at
  while (bytes[next]! <= space) next++
  return bytes[next] === colon
}

/** Longer names are not stored; each counts as a different name. */
export const nameBytesMax = 64

/**
 * Whether JSON has more than `namesMax` distinct member names: V8 creates a hidden class for each set of
 * names, which costs ten times as much as a value.
 */
export function hasMoreNames(bytes: Buffer, values: number, namesMax: number): boolean {
  const names = new Set<string>()
  let longNames = 0
  // Valid JSON with `values` values has at most this many strings.
  let left = 2 * values
  for (let start = bytes.indexOf(quote); start >= 0 && left-- > 0;) {
    const end = endOfString(bytes, start)
    if (isName(bytes, end + 1)) {
      if (end - start > nameBytesMax) longNames++
      else names.add(bytes.toString('latin1', start, end))
      if (names.size + longNames > namesMax) return true
    }
    start = bytes.indexOf(quote, end + 1)
  }
  return false
}
