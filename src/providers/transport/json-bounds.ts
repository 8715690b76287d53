import { endOfString, isName, nameBytesMax } from '../../bytes/json-string.ts'
import { ProviderFailure } from '../../core/failure.ts'

/** A vendor's JSON is nested some ten levels; some thousand overflow the stack where it is printed. */
const levelsMax = 256
/** 5000 tokens, each with the probabilities of twenty others, are a million. */
const valuesMax = 1_000_000
/** V8 makes a class for each set of names, which is what costs: a hundred thousand stall for 100 ms. */
const namesMax = 10_000
/** Less cannot stall anybody. */
const bytesMin = 2048

const [quote, comma] = [0x22, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Looks once over JSON before it is parsed, so that no answer stalls the event loop or overflows the stack
 * (docs/vendors.md#bounds-of-answers). Throws a ProviderFailure `malformed`.
 */
export function checkJsonBounds(bytes: Buffer): void {
  if (bytes.length < bytesMin) return
  const names = new Set<string>()
  let longNames = 0
  let depth = 0
  let values = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === quote) {
      const start = at
      at = endOfString(bytes, at)
      if (!isName(bytes, at + 1)) continue
      if (at - start > nameBytesMax) longNames++
      else names.add(bytes.toString('latin1', start, at))
      if (names.size + longNames > namesMax) throw tooMuch()
    } else if (byte === comma) values++
    else if (byte === openList || byte === openObject) {
      values++
      if (++depth > levelsMax) throw tooMuch()
    } else if (byte === closeList || byte === closeObject) depth--
    if (values > valuesMax) throw tooMuch()
  }
}

function tooMuch(): ProviderFailure {
  return new ProviderFailure('malformed', 'The answer is larger than an answer can be.')
}
