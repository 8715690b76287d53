import { expect } from 'chai'
import fc from 'fast-check'
import {
  base64Bytes,
  base64Length,
  decodeBase64,
  decodedLength,
  encodeBase64,
  readBase64,
} from '../../src/bytes/base64.ts'

const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array))
const pieces = fc.array(bytes, { maxLength: 6 })

/** Splits bytes at random positions. */
function cut(whole: Buffer, positions: readonly number[]): Buffer[] {
  const ends = positions.map((at) => at % (whole.length + 1)).sort((a, b) => a - b)
  return [...ends, whole.length].map((end, index) => whole.subarray(ends[index - 1] ?? 0, end))
}
const cuts = fc.array(fc.nat(), { maxLength: 5 })

describe('base64 in chunks', () => {
  it('is encoded correctly beyond its buffer size, wherever the bytes are split', () => {
    const bytes = Buffer.alloc(200_000, 'any picture, ')
    fc.assert(
      fc.property(cuts, fc.nat({ max: 3 }), (positions, left) => {
        const whole = bytes.subarray(left)
        const text = Buffer.concat(encodeBase64(cut(whole, positions)))
        expect(text.equals(Buffer.from(whole.toString('base64')))).to.equal(true)
      }),
    )
  })

  it('is the same however the bytes are split', () => {
    fc.assert(
      fc.property(pieces, (some) => {
        expect(Buffer.concat(encodeBase64(some)).toString()).to.equal(
          Buffer.concat(some).toString('base64'),
        )
      }),
    )
  })

  it('is decoded however it is split, whole or in parts', () => {
    fc.assert(
      fc.property(bytes, cuts, fc.nat(50), fc.nat(50), (whole, positions, start, length) => {
        const text = cut(Buffer.from(whole.toString('base64')), positions)
        expect(decodeBase64(text).equals(whole)).to.equal(true)
        expect(decodedLength(text)).to.equal(whole.length)
        const read = base64Bytes(text)
        for (const from of [start, 0, start]) {
          expect(read(from, length).equals(whole.subarray(from, from + length))).to.equal(true)
        }
      }),
    )
  })

  it('ends before the first other character', () => {
    fc.assert(
      fc.property(
        bytes,
        cuts,
        fc.constantFrom('', '"', '",x', ' ', '\n', '§'),
        (whole, at, rest) => {
          const text = whole.toString('base64')
          expect(base64Length(cut(Buffer.from(text + rest), at))).to.equal(text.length)
        },
      ),
    )
  })

  it('ends before the first other character, also in megabytes', () => {
    const text = Buffer.alloc(1_500_000, 7).toString('base64')
    for (const end of [4, 32_768, 65_536, 1_000_000]) {
      const whole = Buffer.from(`${text.slice(0, end)}"${text}`)
      expect(base64Length([whole])).to.equal(end)
      expect(base64Length(cut(whole, [1, 100_003, 400_001]))).to.equal(end)
    }
  })

  const others = [
    'AB',
    'ABC',
    'AB=',
    'AB==AB==',
    'AB==',
    'AA-_',
    'AA A',
    'AAA\n',
    'A===',
    '=',
    '§§§§',
  ]
  for (const text of others) {
    it(`is refused in another form: ${JSON.stringify(text)}`, () => {
      expect(base64Length([Buffer.from(text)])).to.not.equal(Buffer.byteLength(text))
    })
  }

  it('is the same for each spelling of the same bytes', () => {
    const space = fc.constantFrom('', ' ', '\n', '\r\n', '\t\f', '%0a', '%20')
    const isEscaped = fc.boolean()
    const spelling = fc.array(fc.tuple(space, isEscaped), { minLength: 1, maxLength: 7 })
    fc.assert(
      fc.property(bytes, spelling, fc.boolean(), (whole, spelled, isPadded) => {
        const plain = whole.toString('base64')
        const letters = (isPadded ? plain : plain.replace(/=+$/, '')).split('')
        const text = letters.map((letter, index) => {
          const [before, escapes] = spelled[index % spelled.length]!
          return before + (escapes ? `%${Buffer.from(letter).toString('hex')}` : letter)
        })
        const read = readBase64(text.join(''))!
        expect(Buffer.concat(read.base64).toString()).to.equal(plain)
        expect(read.isCanonical).to.equal(text.join('') === plain)
      }),
    )
  })
})
