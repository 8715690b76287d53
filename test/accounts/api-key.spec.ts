import { hash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { createKey, digestOf, hintOf, isWellFormedKey } from '../../src/accounts/api-key.ts'

const typed = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_ \né'
const keys = fc.constantFrom('live' as const, 'test' as const).map(createKey)

describe('API keys', () => {
  for (const mode of ['live', 'test'] as const) {
    it(`of mode ${mode} name the mode, and contain 256 random bits and a checksum`, () => {
      const key = createKey(mode)
      expect(key).to.match(new RegExp(`^mag_${mode}_[A-Za-z0-9_-]{49}$`))
      expect(Buffer.from(key.slice(9, 52), 'base64url')).to.have.length(32)
      expect(isWellFormedKey(key)).to.equal(true)
    })
  }

  it('are never repeated', () => {
    const many = Array.from({ length: 2000 }, () => createKey('test'))
    expect(new Set(many).size).to.equal(many.length)
  })

  it('are refused with any single character mistyped', () => {
    fc.assert(
      fc.property(
        keys,
        fc.nat({ max: 57 }),
        fc.constantFrom(...typed.split('')),
        (key, at, character) => {
          fc.pre(key[at] !== character)
          const mistyped = key.slice(0, at) + character + key.slice(at + 1)
          expect(isWellFormedKey(mistyped)).to.equal(false)
        },
      ),
    )
  })

  it('are refused with two neighbouring characters swapped, truncated or extended', () => {
    fc.assert(
      fc.property(keys, fc.nat({ max: 56 }), (key, at) => {
        expect(isWellFormedKey(key.slice(0, at))).to.equal(false)
        expect(isWellFormedKey(key + key[at])).to.equal(false)
        const [one, other] = [key[at]!, key[at + 1]!]
        fc.pre(one !== other)
        const swapped = key.slice(0, at) + other + one + key.slice(at + 2)
        expect(isWellFormedKey(swapped)).to.equal(false)
      }),
    )
  })

  it('are stored as their SHA-256', () => {
    const key = createKey('live')
    expect(digestOf(key)).to.equal(hash('sha256', key, 'base64url'))
  })

  it('are distinguished by a hint without any of their random bits', () => {
    fc.assert(
      fc.property(keys, (key) => {
        const [start, end] = hintOf(key).split('…')
        expect(start).to.equal(key.slice(0, 9))
        expect(key.slice(52).endsWith(end!)).to.equal(true)
      }),
    )
  })
})
