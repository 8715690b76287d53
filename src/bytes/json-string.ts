const [quote, backslash] = [0x22, 0x5c]

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
