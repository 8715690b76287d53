import { decodeBase64 } from '../../bytes/base64.ts'
import { numberBytes, type Vector } from '../../core/embedding/embedding.ts'
import { ProviderFailure } from '../../core/failure.ts'

/** The vector of a list of numbers. Throws a ProviderFailure `malformed`. */
export function vectorOfNumbers(numbers: readonly unknown[]): Vector {
  const vector = Buffer.allocUnsafeSlow(numbers.length * numberBytes)
  for (const [place, number] of numbers.entries()) {
    // A number that overflows 32 bits becomes infinite.
    if (typeof number !== 'number' || !Number.isFinite(Math.fround(number))) throw notAVector()
    vector.writeFloatLE(number, place * numberBytes)
  }
  return vector
}

/** The vector of a base64 text. Throws a ProviderFailure `malformed`. */
export function vectorOfBase64(text: readonly Buffer[]): Vector {
  const vector = decodeBase64(text)
  if (vector.length % numberBytes !== 0) throw notAVector()
  // All bits of the exponent are set in infinite numbers and in NaN; reading the bytes is fastest.
  for (let at = numberBytes - 1; at < vector.length; at += numberBytes) {
    if ((vector[at]! & 0x7f) === 0x7f && vector[at - 1]! >= 0x80) throw notAVector()
  }
  return vector
}

/** The vector with length one; a vector of zeros has no direction and is returned unchanged. */
export function normalized(vector: Vector): Vector {
  let sum = 0
  for (let at = 0; at < vector.length; at += numberBytes) sum += vector.readFloatLE(at) ** 2
  if (sum === 0) return vector
  const factor = 1 / Math.sqrt(sum)
  for (let at = 0; at < vector.length; at += numberBytes) {
    vector.writeFloatLE(vector.readFloatLE(at) * factor, at)
  }
  return vector
}

function notAVector(): ProviderFailure {
  const text = 'The answer contains a vector that is not a list of finite numbers.'
  return new ProviderFailure('malformed', text)
}
