import { endOfString } from '../bytes/json-string.ts'
import { GatewayError } from '../core/error.ts'

/** JSON.parse has no limit, but JSON.stringify overflows the stack at some thousand levels. */
const levelsMax = 1000

const [quote, comma] = [0x22, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Looks once over the bytes of a JSON body before it is parsed, since what is parsed costs much more
 * than its bytes. Throws `invalid_value` when it is nested too deeply, `request_too_large` when it
 * has more than `valuesMax` members and items. Says whether a number in it may be out of range. Bytes
 * that are no JSON are no fault here.
 */
export function checkJsonBounds(bytes: Buffer, valuesMax: number): { overflows: boolean } {
  let depth = 0
  let values = 1
  let numbers = 0
  let overflows = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === quote) at = endOfString(bytes, at)
    else if (byte === comma) values++
    else if (byte === openList || byte === openObject) {
      const next = bytes[at + 1]
      if (next !== closeList && next !== closeObject) values++
      if (++depth > levelsMax) throw tooDeep()
    } else if (byte === closeList || byte === closeObject) depth--
    else if (isDigit(byte)) {
      const end = endOfNumber(bytes, at)
      // In JSON there are no more of them than values.
      if (!overflows && numbers++ < valuesMax) overflows = isOutOfRange(bytes, at, end)
      at = end - 1
    } else continue
    if (values > valuesMax) throw tooManyValues(valuesMax)
  }
  return { overflows }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

function endOfNumber(bytes: Buffer, start: number): number {
  let at = start + 1
  while (at < bytes.length && isOfNumber(bytes[at]!)) at++
  return at
}

function isOfNumber(byte: number): boolean {
  return isDigit(byte) || byte === 0x2e || byte === 0x2b || byte === 0x2d || (byte | 0x20) === 0x65
}

/** With fewer digits and no exponent a number is in range. */
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

function tooDeep(): GatewayError {
  return new GatewayError('invalid_value', `The body is nested deeper than ${levelsMax} levels.`)
}

function tooManyValues(valuesMax: number): GatewayError {
  const text = `The body has more than ${valuesMax} values, members of objects and items of lists together.`
  return new GatewayError('request_too_large', `${text} Send less at once.`)
}

/** Throws `invalid_value`, which names the place, for the first number that is out of range. */
export function refuseInfinity(value: unknown, place = ''): void {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    const what = place === '' ? 'The body' : `'${place.slice(0, placeLengthMax)}'`
    const text = `${what} is a number out of range: the largest is about 1.8e308.`
    throw new GatewayError('invalid_value', text, place === '' ? {} : { param: place })
  }
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) value.forEach((one, at) => refuseInfinity(one, `${place}[${at}]`))
  else {
    for (const [name, one] of Object.entries(value)) {
      refuseInfinity(one, place === '' ? name : `${place}.${name}`)
    }
  }
}

const placeLengthMax = 200
