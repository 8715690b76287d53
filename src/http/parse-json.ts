import { isUtf8 } from 'node:buffer'
import { excessOf } from '../bytes/json-bounds.ts'
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
  const overflows = checkJsonBounds(bytes)
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

/**
 * Checks the bounds of a JSON body before it is parsed. Throws `invalid_value` if it is nested too deeply, and
 * `request_too_large` if it has more than `valuesMax` values or too many names. Returns whether a number
 * may be out of range.
 */
export function checkJsonBounds(bytes: Buffer, valuesMax = valuesStandardMax): boolean {
  const excess = excessOf(bytes, { levelsMax, valuesMax, namesMax, hasFiniteNumbers: true })
  if (excess === 'levels') {
    throw new GatewayError('invalid_value', `The body is nested deeper than ${levelsMax} levels.`)
  }
  if (excess === 'values') {
    throw tooMuch(
      `The body has more than ${valuesMax} values, members of objects and items of lists together.`,
    )
  }
  if (excess === 'names') {
    throw tooMuch(`The members of the body have more than ${namesMax} different names.`)
  }
  return excess === 'infinity'
}

function tooMuch(text: string): GatewayError {
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
