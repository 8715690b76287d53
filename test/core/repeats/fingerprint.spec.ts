import { createCipheriv, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { createFingerprint, fingerprintKeyBytes } from '../../../src/core/repeats/fingerprint.ts'

const bytes = fc.uint8Array({ maxLength: 80 }).map((array) => Buffer.from(array))

describe('the fingerprint of a picture', () => {
  const key = randomBytes(fingerprintKeyBytes)
  const fingerprint = createFingerprint(key)

  it('is the same however the bytes are split', () => {
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 6 }), (pieces) => {
        expect(fingerprint(pieces)).to.equal(fingerprint([Buffer.concat(pieces)]))
      }),
    )
  })

  it('differs for other bytes, also for appended ones', () => {
    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        expect(fingerprint([one]) === fingerprint([other])).to.equal(one.equals(other))
      }),
    )
    const names = Array.from({ length: 40 }, (_, length) => fingerprint([Buffer.alloc(length)]))
    expect(new Set(names).size).to.equal(names.length)
  })

  it('is the same in every process with the key, and unpredictable without it', () => {
    const pieces = [Buffer.from('a')]
    expect(createFingerprint(Buffer.from(key))(pieces)).to.equal(fingerprint(pieces))
    for (const at of [0, fingerprintKeyBytes - 1]) {
      const other = Buffer.from(key)
      other[at] = other[at]! ^ 1
      expect(createFingerprint(other)(pieces)).to.not.equal(fingerprint(pieces))
    }
  })

  it('never contains the tag of the bytes, which would reveal the key', () => {
    const cipher = createCipheriv('aes-128-gcm', key.subarray(0, 16), Buffer.alloc(12))
    cipher.setAAD(Buffer.from('a'))
    cipher.final()
    const tag = cipher.getAuthTag()
    const decoded = Buffer.from(fingerprint([Buffer.from('a')]), 'base64url')
    expect(decoded.includes(tag)).to.equal(false)
    expect(decoded).to.have.length(32)
  })
})
