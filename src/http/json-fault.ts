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
