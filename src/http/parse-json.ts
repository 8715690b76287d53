import { isUtf8 } from 'node:buffer'
import { endOfString, hasMoreNames } from '../bytes/json-string.ts'
import { GatewayError } from '../core/error.ts'
import { findJsonFault } from './json-fault.ts'

/**
 * Parses a JSON body. Throws `invalid_json` with the position and reason, `invalid_value` if it is
 * nested too deeply, encoded twice or has a number out of range, or `request_too_large` if it has
 * too many values. `original` returns the bytes as sent, for the position.
 */
export function parseBody(bytes: Buffer, original: () => Buffer = () => bytes): unknown {
  if (bytes.length === 0) throw invalidJson('The request has no body. Send a JSON object.')
  if (!isUtf8(bytes)) throw notUtf8(bytes)
  const { overflows } = checkJsonBounds(bytes)
  const value = parseJson(bytes, original)
  if (overflows) refuseInfinity(value)
  if (typeof value === 'string' && /^\s*[{[]/.test(value)) {
    const text = 'The body is JSON inside of a string: it was encoded twice.'
    throw new GatewayError('invalid_value', `${text} Send the object itself, without quotes.`)
  }
  return value
}

function parseJson(bytes: Buffer, original: () => Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch (cause) {
    if (!startsWith(bytes, utf8Mark)) throw notJson(original(), cause)
  }
  const behindMark = (whole: Buffer) => whole.subarray(utf8Mark.length)
  try {
    return JSON.parse(behindMark(bytes).toString())
  } catch (cause) {
    throw notJson(behindMark(original()), cause)
  }
}

const utf8Mark = [0xef, 0xbb, 0xbf]
const utf16Marks = [
  [0xff, 0xfe],
  [0xfe, 0xff],
]

function startsWith(bytes: Buffer, mark: readonly number[]): boolean {
  return mark.every((byte, at) => bytes[at] === byte)
}

/** Maximum size of a body in which the syntax error is searched, which blocks the event loop. */
const searchedBytesMax = 1024 * 1024

function notJson(bytes: Buffer, cause: unknown): GatewayError {
  // Latin letters in UTF-16 are valid UTF-8 with zero bytes between them.
  if (bytes.subarray(0, 4).includes(0)) return notUtf8(bytes)
  const fault = bytes.length > searchedBytesMax ? undefined : findJsonFault(bytes.toString())
  if (fault === undefined) return invalidJson('The body is not valid JSON.', cause)
  const { line, column, reason } = fault
  const text = `The body is not valid JSON. Line ${line}, column ${column}: ${reason}`
  return invalidJson(text, cause)
}

function notUtf8(bytes: Buffer): GatewayError {
  const isUtf16 =
    utf16Marks.some((mark) => startsWith(bytes, mark)) || bytes.subarray(0, 4).includes(0)
  return invalidJson(`The body is ${isUtf16 ? 'UTF-16' : 'not UTF-8'}. Send JSON in UTF-8.`)
}

function invalidJson(message: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_json', message, { cause })
}

/** JSON.parse has no limit, but JSON.stringify overflows the stack at some thousand levels. */
const levelsMax = 1000
/** Maximum number of distinct member names, above that of any list of tools. */
const namesMax = 20_000
/** Each value takes tens of bytes; conversations with many tools have far fewer values. */
const valuesStandardMax = 250_000

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

/**
 * Scans a JSON body once before it is parsed, because parsing costs far more than the bytes. Throws
 * `invalid_value` if it is nested too deeply, and `request_too_large` if it has more than
 * `valuesMax` values or too many names. Returns whether a number may be out of range. Invalid JSON
 * is not reported here.
 */
export function checkJsonBounds(
  bytes: Buffer,
  valuesMax = valuesStandardMax,
): { overflows: boolean } {
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
      const end = endOfNumber(bytes, at)
      // Valid JSON has no more numbers than values.
      if (!overflows && numbers++ < valuesMax) overflows = isOutOfRange(bytes, at, end)
      at = end - 1
    } else {
      const isEmpty = kind === opening && kinds[bytes[at + 1]!] === closing
      if (kind === opening && ++depth > levelsMax) throw tooDeep()
      if (!isEmpty && ++values > valuesMax) throw tooManyValues(valuesMax)
    }
  }
  // A body has no more names than values.
  if (values > namesMax && hasMoreNames(bytes, values, namesMax)) throw tooManyNames()
  return { overflows }
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

function tooDeep(): GatewayError {
  return new GatewayError('invalid_value', `The body is nested deeper than ${levelsMax} levels.`)
}

function tooManyValues(valuesMax: number): GatewayError {
  const text = `The body has more than ${valuesMax} values, members of objects and items of lists together.`
  return new GatewayError('request_too_large', `${text} Send less at once.`)
}

function tooManyNames(): GatewayError {
  const text = `The members of the body have more than ${namesMax} different names.`
  return new GatewayError('request_too_large', `${text} Send less at once.`)
}

/** Throws `invalid_value` with the path of the first number that is out of range. */
function refuseInfinity(value: unknown, place = ''): void {
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
