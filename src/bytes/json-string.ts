const [quote, backslash, colon, space] = [0x22, 0x5c, 0x3a, 0x20]

/** So many bytes of a string are looked at one by one: for a short one a search costs more. */
const nearBytes = 64

/** Where a string of JSON ends whose quote is at `start`: at the first quote that is not escaped, or behind the last byte. */
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

/** Whether a string of JSON that ends before `at` is the name of a member. */
export function isName(bytes: Buffer, at: number): boolean {
  let next = at
  while (bytes[next]! <= space) next++
  return bytes[next] === colon
}

/** No member is called so: it counts as another name each time. */
export const nameBytesMax = 64

/**
 * Whether the members of JSON have more different names: V8 makes a class for each set of names,
 * which costs ten times what a value costs.
 */
export function hasMoreNames(bytes: Buffer, values: number, namesMax: number): boolean {
  const names = new Set<string>()
  let longNames = 0
  // What has more strings than names and values is no JSON.
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
