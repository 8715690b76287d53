import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../core/error.ts'
import { findJsonFault } from './json-fault.ts'

/**
 * Parses a JSON body. Throws `invalid_json`, which tells where and why, or `invalid_value` when it
 * is nested too deeply or encoded twice. `original` is the body as it was sent, for the place.
 */
export function parseBody(bytes: Buffer, original: () => Buffer = () => bytes): unknown {
  if (bytes.length === 0) throw invalidJson('The request has no body. Send a JSON object.')
  if (!isUtf8(bytes)) throw notUtf8(bytes)
  const value = parseJson(bytes, original)
  if (isNestedDeeper(bytes, levelsMax)) {
    throw new GatewayError('invalid_value', `The body is nested deeper than ${levelsMax} levels.`)
  }
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
const searchedBytesMax = 4 * 1024 * 1024

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

/** JSON.parse has no limit, but JSON.stringify overflows the stack at some thousand levels. */
const levelsMax = 1000
const [quote, backslash] = [0x22, 0x5c]

/** Whether valid JSON has more levels; skips over strings, which are most of a body. */
function isNestedDeeper(bytes: Buffer, levels: number): boolean {
  if (bytes.length <= 2 * levels) return false
  let depth = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === quote) at = endOfString(bytes, at)
    else if (byte === 0x5b || byte === 0x7b) depth++
    else if (byte === 0x5d || byte === 0x7d) depth--
    if (depth > levels) return true
  }
  return false
}

/** Where a string ends: at a quote after an even number of backslashes. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(quote, start + 1); ; end = bytes.indexOf(quote, end + 1)) {
    let before = end
    while (bytes[before - 1] === backslash) before--
    if ((end - before) % 2 === 0) return end
  }
}

function invalidJson(message: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_json', message, { cause })
}
