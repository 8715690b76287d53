import { expect } from 'chai'
import fc from 'fast-check'
import { indexInPieces, joinPieces, piecesLength, slicePieces } from '../../src/bytes/pieces.ts'

// Two letters make partial matches frequent.
const letters = fc.stringMatching(/^[ab]{0,12}$/)
const pieces = fc
  .array(letters, { maxLength: 8 })
  .map((texts) => texts.map((text) => Buffer.from(text)))
const position = fc.nat(100)

describe('a list of byte chunks', () => {
  it('has the total length of its chunks', () => {
    fc.assert(
      fc.property(pieces, (some) => {
        expect(piecesLength(some)).to.equal(Buffer.concat(some).length)
        expect(joinPieces(some).equals(Buffer.concat(some))).to.equal(true)
      }),
    )
  })

  it('can be sliced anywhere', () => {
    fc.assert(
      fc.property(pieces, position, fc.option(position, { nil: undefined }), (some, start, end) => {
        const cut = Buffer.concat(slicePieces(some, start, end))
        expect(cut.equals(Buffer.concat(some).subarray(start, end))).to.equal(true)
      }),
    )
  })

  it('is searched like one buffer', () => {
    fc.assert(
      fc.property(pieces, fc.stringMatching(/^[ab]{1,5}$/), position, (some, wanted, start) => {
        const whole = Buffer.concat(some)
        const expected = start < whole.length ? whole.indexOf(wanted, start) : -1
        expect(indexInPieces(some, Buffer.from(wanted), start)).to.equal(expected)
      }),
      { numRuns: 1000 },
    )
  })
})
