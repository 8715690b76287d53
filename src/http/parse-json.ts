import { isUtf8 } from 'node:buffer'
import { excessOf } from '../bytes/json-bounds.ts'
import { GatewayError } from '../core/error.ts'

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

/** The position of the first JSON syntax error (line and column from 1) and its reason. */
type JsonFault = { line: number; column: number; reason: string }

/** Finds the first JSON syntax error; undefined for valid JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  const fault = scan(text)
  if (fault === undefined) return undefined
  const { at, reason } = fault
  const before = text.slice(0, at)
  const line = before.split('\n').length
  return { line, column: at - before.lastIndexOf('\n'), reason }
}

type Fault = { at: number; reason: string }
/** The expected token; the `first` variants follow an opening bracket, the other variants a comma. */
type Expected = 'value' | 'first value' | 'name' | 'first name' | 'colon' | 'comma or end' | 'end'

const blank = /[ \t\r\n]*/y
const literal = /(?:true|false|null)(?![\w$])/y
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.$])/y
const word = /[A-Za-z_$][\w$]*/y

function scan(text: string): Fault | undefined {
  const open: string[] = []
  let expected: Expected = 'value'
  let at = 0
  for (;;) {
    at = endOf(blank, text, at)
    const sign = text[at]
    if (sign === undefined) {
      return expected === 'end' ? undefined : { at, reason: endReason(open) }
    }
    const isNamed: boolean = expected === 'name' || expected === 'first name'
    if (expected === 'end')
      return { at, reason: 'unexpected text after the end of the value. Send one value.' }
    if (sign === closing(open) && (expected.startsWith('first') || expected === 'comma or end')) {
      open.pop()
      expected = open.length === 0 ? 'end' : 'comma or end'
      at++
    } else if (expected === 'comma or end') {
      if (sign !== ',')
        return { at, reason: strayReason(text, at, 'a comma is missing before this character.') }
      expected = open.at(-1) === '{' ? 'name' : 'value'
      at++
    } else if (expected === 'colon') {
      if (sign !== ':')
        return { at, reason: strayReason(text, at, 'a colon is missing before this character.') }
      expected = 'value'
      at++
    } else if (sign === '"') {
      const string = scanString(text, at)
      if ('reason' in string) return string
      at = string.end
      expected = isNamed ? 'colon' : open.length === 0 ? 'end' : 'comma or end'
    } else if (isNamed) {
      return { at, reason: strayReason(text, at, 'member names must be in double quotes.') }
    } else if (sign === '{' || sign === '[') {
      open.push(sign)
      expected = sign === '{' ? 'first name' : 'first value'
      at++
    } else {
      const end = Math.max(endOf(literal, text, at), endOf(number, text, at))
      if (end === at) return { at, reason: strayReason(text, at, 'a value is expected here.') }
      at = end
      expected = open.length === 0 ? 'end' : 'comma or end'
    }
  }
}

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

function closing(open: readonly string[]): string | undefined {
  const last = open.at(-1)
  return last === undefined ? undefined : last === '{' ? '}' : ']'
}

function scanString(text: string, start: number): { end: number } | Fault {
  for (let at = start + 1; at < text.length; at++) {
    const sign = text[at]!
    if (sign === '"') return { end: at + 1 }
    if (sign < ' ') {
      const named = controls[sign] ?? 'a control character'
      return { at, reason: `${named} inside of a string must be escaped.` }
    }
    if (sign !== '\\') continue
    const isEscape = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y
    if (endOf(isEscape, text, at) === at && at + 1 < text.length) {
      return { at, reason: 'this is not a JSON escape. Write a literal backslash twice.' }
    }
    at++
  }
  return { at: start, reason: 'the string that begins here is not closed.' }
}

const controls: Readonly<Record<string, string>> = {
  '\n': 'a line break (\\n)',
  '\r': 'a line break (\\r)',
  '\t': 'a tab (\\t)',
}

function endReason(open: readonly string[]): string {
  const end = closing(open)
  return end === undefined ? 'there is no value.' : `the text ends too early: '${end}' is missing.`
}

/** Common mistakes, recognised by the text at the error position. */
const mistakes: readonly [RegExp, string][] = [
  [/['`\u2018\u2019\u201c\u201d]/y, 'strings must be in plain double quotes (").'],
  [/\/\/|\/\*|#/y, 'JSON has no comments.'],
  [/-?(?:NaN|Infinity)\b/y, 'JSON has no NaN or Infinity. Send a finite number or null.'],
  [/undefined\b/y, 'JSON has no undefined. Omit the member.'],
  [/(?:True|False)\b/y, 'JSON spells true and false in lower case.'],
  [/None\b/y, 'JSON has null instead of None.'],
  [/[+.]\d|-\.\d|\d+\.(?!\d)|-?0\d|0[xX]/y, 'this is not a JSON number. Write it like 0.5 or 12.'],
]

function strayReason(text: string, at: number, otherwise: string): string {
  const known = mistakes.find(([pattern]) => endOf(pattern, text, at) > at)
  if (known !== undefined) return known[1]
  const sign = text[at]!
  if (sign === '}' || sign === ']') {
    const isBehindComma = /,\s*$/.test(text.slice(Math.max(0, at - 100), at))
    return isBehindComma
      ? `there is a comma before '${sign}'. Remove it.`
      : `'${sign}' has no opening bracket.`
  }
  if (sign === ',') return 'this comma is superfluous. Remove it.'
  if (endOf(word, text, at) > at && otherwise.startsWith('a value'))
    return 'strings must be in double quotes (").'
  return otherwise
}
