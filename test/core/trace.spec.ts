import { expect } from 'chai'
import fc from 'fast-check'
import { readTraceContext, traceHeaders } from '../../src/core/trace.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${spanId}-01`

const hex = (digits: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${digits}}$`))
const id = (digits: number) => hex(digits).filter((text) => /[^0]/.test(text))

describe('a trace context', () => {
  it('is read from its text form', () => {
    const all = fc.record({ traceId: id(32), spanId: id(16), flags: fc.nat(255) })
    fc.assert(
      fc.property(all, (context) => {
        const named = { ...context, state: undefined }
        expect(readTraceContext(traceHeaders(named))).to.deep.equal(named)
      }),
    )
  })

  it('with one changed character is another valid one, or refused', () => {
    const change = fc.tuple(
      fc.nat(traceparent.length - 1),
      fc.string({ unit: 'binary', maxLength: 2 }),
    )
    fc.assert(
      fc.property(change, ([at, text]) => {
        const given = traceparent.slice(0, at) + text + traceparent.slice(at + 1)
        const read = readTraceContext({ traceparent: given })
        if (read === undefined) return
        const form = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/
        expect(given).to.match(form)
        expect(traceHeaders(read)).to.have.all.keys('traceparent')
        expect(traceHeaders(read)['traceparent']).to.match(
          /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/,
        )
      }),
      { numRuns: 1000 },
    )
  })

  const malformed: [string, unknown][] = [
    ['that is absent', undefined],
    ['that is repeated', `${traceparent}, ${traceparent}`],
    ['that is a list', [traceparent]],
    ['in capitals', traceparent.toUpperCase()],
    ['without flags', traceparent.slice(0, -3)],
    ['with trailing characters', `${traceparent}-00`],
    ['with a space before it', ` ${traceparent}`],
    ['with a zero trace id', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['with a zero span id', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['of the invalid version ff', `ff${traceparent.slice(2)}`],
    ['of a later version with an invalid continuation', `01${traceparent.slice(2)}x`],
    ['that is too long', `01${traceparent.slice(2)}-${'a'.repeat(10_000)}`],
    ['with a line break', `${traceparent}\r\nx-evil: 1`],
  ]
  for (const [name, given] of malformed) {
    it(`is refused ${name}`, () => {
      expect(readTraceContext({ traceparent: given, tracestate: 'a=1' })).to.equal(undefined)
    })
  }

  it('of a later version is passed on with the known fields', () => {
    const read = readTraceContext({ traceparent: `cc-${traceId}-${spanId}-ff-what-comes-then` })
    expect(traceHeaders(read!)).to.deep.equal({ traceparent })
  })

  const states: [string, unknown, string | undefined][] = [
    ['one member', 'rojo=00f067aa0ba902b7', 'rojo=00f067aa0ba902b7'],
    ['spaces and empty members', ' a=1 ,,\tb@c= 2 ', 'a=1,b@c= 2'],
    ['none', '', undefined],
    ['a repeated key', 'a=1,a=2', undefined],
    ['a key in capitals', 'A=1', undefined],
    ['no value', 'a', undefined],
    ['a second equals sign', 'a=b=c', undefined],
    ['a line break', 'a=1\r\nx-evil: 1', undefined],
    ['letters of other alphabets', 'a=ä', undefined],
    ['33 members', Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(), undefined],
    ['a list', ['a=1'], undefined],
    [
      'a member that exceeds the limit',
      `a=${'x'.repeat(256)},b=${'y'.repeat(256)},c=1`,
      `a=${'x'.repeat(256)}`,
    ],
  ]
  for (const [name, tracestate, state] of states) {
    it(`with ${name} in tracestate ${state === undefined ? 'has no state' : 'keeps the valid members'}`, () => {
      expect(readTraceContext({ traceparent, tracestate })).to.include({ traceId, state })
    })
  }

  it('has a state of at most 512 characters, whatever was received', () => {
    const member = fc
      .tuple(
        fc.stringMatching(/^[a-z][a-z0-9]{0,40}$/),
        fc.string({ unit: 'grapheme', maxLength: 80 }),
      )
      .map(([key, value]) => `${key}=${value}`)
    const given = fc.array(member, { maxLength: 40 }).map((all) => all.join(','))
    fc.assert(
      fc.property(given, (tracestate) => {
        const { state } = readTraceContext({ traceparent, tracestate })!
        if (state !== undefined) expect(state).to.match(/^[\x20-\x7e]{1,512}$/)
      }),
    )
  })
})
