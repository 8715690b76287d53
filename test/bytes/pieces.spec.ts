import { expect } from 'chai'
import fc from 'fast-check'
import { indexInPieces, joinPieces, piecesLength, slicePieces } from '../../src/bytes/pieces.ts'

// Of two letters, so that what is looked for is often there in part.
const letters = fc.stringMatching(/^[ab]{0,12}$/)
const pieces = fc
  .array(letters, { maxLength: 8 })
  .map((texts) => texts.map((text) => Buffer.from(text)))
const position = fc.nat(100)

describe('bytes in pieces', () => {
  it('are as many as they are together', () => {
    fc.assert(
      fc.property(pieces, (some) => {
        expect(piecesLength(some)).to.equal(Buffer.concat(some).length)
        expect(joinPieces(some).equals(Buffer.concat(some))).to.equal(true)
      }),
    )
  })

  it('are cut anywhere', () => {
    fc.assert(
      fc.property(pieces, position, fc.option(position, { nil: undefined }), (some, start, end) => {
        const cut = Buffer.concat(slicePieces(some, start, end))
        expect(cut.equals(Buffer.concat(some).subarray(start, end))).to.equal(true)
      }),
    )
  })

  it('are searched as if they were one', () => {
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
