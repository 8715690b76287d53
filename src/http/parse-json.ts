import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../core/error.ts'
import { checkJsonBounds, refuseInfinity } from './json-bounds.ts'
import { findJsonFault } from './json-fault.ts'

/**
 * Parses a JSON body. Throws `invalid_json`, which tells where and why, `invalid_value` when it is
 * nested too deeply, encoded twice or has a number out of range, or `request_too_large` when it has
 * too many members and items. `original` is the body as it was sent, for the place.
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

/** Larger bodies are not searched for their fault, which would block everybody. */
const searchedBytesMax = 1024 * 1024

function notJson(bytes: Buffer, cause: unknown): GatewayError {
  // Latin letters in UTF-16 are UTF-8 as well, with a zero next to each.
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
