import { expect } from 'chai'
import fc from 'fast-check'
import { createFingerprint } from '../../../src/core/recall/fingerprint.ts'

const bytes = fc.uint8Array({ maxLength: 80 }).map((array) => Buffer.from(array))

describe('the fingerprint of a picture', () => {
  const fingerprint = createFingerprint()

  it('is the same in whatever pieces it came', () => {
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 6 }), (pieces) => {
        expect(fingerprint(pieces)).to.equal(fingerprint([Buffer.concat(pieces)]))
      }),
    )
  })

  it('is another one for other bytes, also for more of the same', () => {
    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        expect(fingerprint([one]) === fingerprint([other])).to.equal(one.equals(other))
      }),
    )
    const names = Array.from({ length: 40 }, (_, length) => fingerprint([Buffer.alloc(length)]))
    expect(new Set(names).size).to.equal(names.length)
  })

  it('can be told by nobody outside of the process', () => {
    expect(createFingerprint()([Buffer.from('a')])).to.not.equal(fingerprint([Buffer.from('a')]))
  })
})
