import { endOfString, isName, nameBytesMax } from '../../bytes/json-string.ts'
import { ProviderFailure } from '../../core/failure.ts'

/** Vendors nest JSON some ten levels deep; thousands would overflow the stack of the printer. */
const levelsMax = 256
/** Enough for 5000 tokens with the probabilities of twenty alternatives each. */
const valuesMax = 1_000_000
/** Limits names, since V8 creates a class for each set; 100,000 names block the process for 100 ms. */
const namesMax = 10_000
/** Smaller texts are not scanned, since they cannot block the event loop. */
const bytesMin = 2048

const [quote, comma] = [0x22, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Scans JSON before it is parsed, so that no answer blocks the event loop or overflows the stack
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
  return new ProviderFailure('malformed', 'The JSON of the answer exceeds the limits.')
}
