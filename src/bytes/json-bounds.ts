/** The class of each byte outside of strings; 0 for most. */
const kinds = new Uint8Array(256)
const [string, separator, opening, closing, digit, ofNumber] = [1, 2, 3, 4, 5, 6]
for (const [kind, signs] of [
  [string, '"'],
  [separator, ','],
  [opening, '[{'],
  [closing, ']}'],
  [digit, '0123456789'],
  [ofNumber, '.+-eE'],
] as const) {
  for (const sign of Buffer.from(signs)) kinds[sign] = kind
}

/** The most of each that JSON may have. */
type JsonBounds = {
  levelsMax: number
  /** Values: members of objects and items of lists together. */
  valuesMax: number
  /** Distinct names of members. */
  namesMax: number
  /** Whether to look for numbers that are out of range, which would become Infinity. */
  hasFiniteNumbers?: true
}
/** What JSON has too much of; `infinity` only if nothing else exceeds its bound. */
type Excess = 'levels' | 'values' | 'names' | 'infinity'

/**
 * Scans JSON once before it is parsed, because parsing costs far more than the bytes; undefined within the
 * bounds. Invalid JSON is not reported.
 */
export function excessOf(bytes: Buffer, bounds: JsonBounds): Excess | undefined {
  const { levelsMax, valuesMax, namesMax, hasFiniteNumbers } = bounds
  let depth = 0
  let values = 1
  let numbers = 0
  let overflows = false
  for (let at = 0; at < bytes.length; at++) {
    const kind = kinds[bytes[at]!]!
    if (kind === 0 || kind === ofNumber) continue
    if (kind === string) at = endOfString(bytes, at)
    else if (kind === closing) depth--
    else if (kind === digit) {
      if (!hasFiniteNumbers) continue
      const end = endOfNumber(bytes, at)
      // Valid JSON has no more numbers than values.
      if (!overflows && numbers++ < valuesMax) overflows = isOutOfRange(bytes, at, end)
      at = end - 1
    } else {
      const isEmpty = kind === opening && kinds[bytes[at + 1]!] === closing
      if (kind === opening && ++depth > levelsMax) return 'levels'
      if (!isEmpty && ++values > valuesMax) return 'values'
    }
  }
  // JSON has no more names than values.
  if (values > namesMax && hasMoreNames(bytes, values, namesMax)) return 'names'
  return overflows ? 'infinity' : undefined
}

function endOfNumber(bytes: Buffer, start: number): number {
  let at = start + 1
  while (kinds[bytes[at]!]! >= digit) at++
  return at
}

/** A number with fewer digits and no exponent is in range. */
const digitsMax = 308
const [smallE, largeE] = [0x65, 0x45]

function isOutOfRange(bytes: Buffer, start: number, end: number): boolean {
  const isShort = end - start <= digitsMax
  if (isShort && !hasExponent(bytes, start, end)) return false
  return Math.abs(Number(bytes.toString('latin1', start, end))) === Infinity
}

function hasExponent(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    if (bytes[at] === smallE || bytes[at] === largeE) return true
  }
  return false
}

const [quote, backslash, colon, space] = [0x22, 0x5c, 0x3a, 0x20]

/** The first bytes of a string are compared one by one, since `indexOf` is slower on short strings. */
const nearBytes = 64

/** The end of the JSON string that opens at `start`: its unescaped closing quote, or the end of `bytes`. */
function endOfString(bytes: Buffer, start: number): number {
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
function isName(bytes: Buffer, at: number): boolean {
  let next = at
  while (bytes[next]! <= space) next++
  return bytes[next] === colon
}

/** Longer names are not stored; each counts as a different name. */
const nameBytesMax = 64

/**
 * Whether JSON has more than `namesMax` distinct member names: V8 creates a hidden class for each set of
 * names, which costs ten times as much as a value.
 */
function hasMoreNames(bytes: Buffer, values: number, namesMax: number): boolean {
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
