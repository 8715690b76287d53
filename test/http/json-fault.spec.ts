import { expect } from 'chai'
import fc from 'fast-check'
import { findJsonFault } from '../../src/http/parse-json.ts'
import { cpuMs } from '../support/cpu-time.ts'

const rows: [text: string, line: number, column: number, reason: string | RegExp][] = [
  ['', 1, 1, 'there is no value.'],
  ['   \n ', 2, 2, 'there is no value.'],
  ['{"a": 1,}', 1, 9, "there is a comma before '}'. Remove it."],
  ['{\n  "a": [1, 2, ],\n}', 2, 15, "there is a comma before ']'. Remove it."],
  ["{'a': 1}", 1, 2, 'strings must be in plain double quotes (").'],
  ['{"a": \u201cx\u201d}', 1, 7, 'strings must be in plain double quotes (").'],
  ['{a: 1}', 1, 2, 'member names must be in double quotes.'],
  ['{"a": NaN}', 1, 7, /no NaN or Infinity/],
  ['{"a": -Infinity}', 1, 7, /no NaN or Infinity/],
  ['{"a": undefined}', 1, 7, /no undefined/],
  ['{"a": True}', 1, 7, /lower case/],
  ['{"a": None}', 1, 7, /null instead of None/],
  ['{"a": .5}', 1, 7, /not a JSON number/],
  ['{"a": 012}', 1, 7, /not a JSON number/],
  ['{"a": 1.}', 1, 7, /not a JSON number/],
  ['{"a": hello}', 1, 7, 'strings must be in double quotes (").'],
  ['// a request\n{}', 1, 1, 'JSON has no comments.'],
  ['{"a": 1 /* one */}', 1, 9, 'JSON has no comments.'],
  ['{"a": 1 "b": 2}', 1, 9, 'a comma is missing before this character.'],
  ['{"a" 1}', 1, 6, 'a colon is missing before this character.'],
  ['{"a":, "b": 2}', 1, 6, 'this comma is superfluous. Remove it.'],
  ['[1,, 2]', 1, 4, 'this comma is superfluous. Remove it.'],
  ['{"a": 1]', 1, 8, "']' has no opening bracket."],
  ['{"a": 1', 1, 8, "the text ends too early: '}' is missing."],
  ['{"a": [1', 1, 9, "the text ends too early: ']' is missing."],
  ['{"a": "x', 1, 7, 'the string that begins here is not closed.'],
  ['{"a": "x\ny"}', 1, 9, 'a line break (\\n) inside of a string must be escaped.'],
  ['{"a": "C:\\dir"}', 1, 10, /Send|not a JSON escape/],
  ['{"a": "C:\\Users"}', 1, 10, /not a JSON escape/],
  ['{"a": 1}{"b": 2}', 1, 9, 'unexpected text after the end of the value. Send one value.'],
  ['model=gpt-5-mini', 1, 1, 'strings must be in double quotes (").'],
  ['<html>', 1, 1, 'a value is expected here.'],
]

describe('the error position of invalid JSON', () => {
  for (const [text, line, column, reason] of rows) {
    it(`is found in ${JSON.stringify(text)}`, () => {
      expect(() => JSON.parse(text)).to.throw()
      const fault = findJsonFault(text)!
      expect({ line: fault.line, column: fault.column }).to.deep.equal({ line, column })
      if (typeof reason === 'string') expect(fault.reason).to.equal(reason)
      else expect(fault.reason).to.match(reason)
    })
  }

  it('is found exactly in the texts that JSON.parse refuses', () => {
    const isJson = (text: string) => {
      try {
        JSON.parse(text)
        return true
      } catch {
        return false
      }
    }
    const bit = fc.constantFrom(
      ...'{}[]",:\\\n\t 0123.eE+-\'/#aux'.split(''),
      'true',
      'null',
      '"a"',
      '"a":',
      'NaN',
      '\\u12',
      '\\n',
      '\u0001',
      '\u2028',
    )
    const texts = fc.oneof(
      fc.array(bit, { maxLength: 12 }).map((bits) => bits.join('')),
      fc.json(),
      fc.tuple(fc.json(), fc.nat(), bit).map(([json, chance, one]) => {
        const at = chance % json.length
        return json.slice(0, at) + one + json.slice(at + 1)
      }),
    )
    fc.assert(
      fc.property(texts, (text) => {
        expect(findJsonFault(text) === undefined).to.equal(isJson(text))
      }),
      { numRuns: 3000 },
    )
  })

  it('is found fast in a text of megabytes', () => {
    const text = `{"a":"${'x'.repeat(2_000_000)}","b":[${'1,'.repeat(500_000)}]}`
    const ms = cpuMs(() =>
      expect(findJsonFault(text)!.reason).to.equal("there is a comma before ']'. Remove it."),
    )
    expect(ms).to.be.lessThan(2000)
  })
})
