import { expect } from 'chai'
import fc from 'fast-check'
import sharp from 'sharp'
import { readPicture } from '../../src/core/image/picture.ts'
import { isWhole } from '../../src/pictures/whole.ts'

const photo = sharp({
  create: {
    width: 120,
    height: 90,
    channels: 3,
    background: '#888',
    noise: { type: 'gaussian', mean: 128, sigma: 40 },
  },
})
const faint = photo.clone().ensureAlpha(0.5)
const files: Record<string, Buffer> = {
  'a PNG': await photo.clone().png().toBuffer(),
  'a PNG of grey': await photo.clone().greyscale().png().toBuffer(),
  'a PNG with a palette': await photo.clone().png({ palette: true, colours: 4 }).toBuffer(),
  'a PNG in seven passes': await faint.clone().png({ progressive: true }).toBuffer(),
  'a PNG of one colour': await sharp({
    create: { width: 4000, height: 4000, channels: 4, background: '#fff' },
  })
    .png({ compressionLevel: 9 })
    .toBuffer(),
  'a JPEG': await photo.clone().jpeg().toBuffer(),
  'a progressive JPEG': await photo.clone().jpeg({ progressive: true }).toBuffer(),
  'a JPEG with metadata': await photo.clone().withMetadata({ density: 300 }).jpeg().toBuffer(),
  'a WebP': await photo.clone().webp().toBuffer(),
  'a WebP without loss': await photo.clone().webp({ lossless: true }).toBuffer(),
  'a WebP with transparency': await faint.clone().webp().toBuffer(),
  'a WebP with metadata': await photo.clone().withMetadata({ density: 300 }).webp().toBuffer(),
}

function passes(bytes: Buffer): boolean {
  const picture = readPicture([Buffer.from(bytes.toString('base64'))])
  return picture !== undefined && isWhole(picture)
}

describe('the file of a picture', () => {
  for (const [name, bytes] of Object.entries(files)) {
    it(`is complete: ${name}`, () => {
      expect(passes(bytes)).to.equal(true)
      // A picture with appended bytes passes: some tools append bytes, which decoders ignore.
      expect(passes(Buffer.concat([bytes, Buffer.alloc(10_000)]))).to.equal(true)
    })

    it(`is incomplete wherever it is truncated: ${name}`, () => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: bytes.length }), (missing) => {
          expect(passes(bytes.subarray(0, bytes.length - missing))).to.equal(false)
        }),
        { examples: [[1], [2], [12]] },
      )
    })

    it(`never crashes the check, whatever bytes change: ${name}`, () => {
      const change = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255))
      fc.assert(
        fc.property(fc.array(change, { minLength: 1, maxLength: 20 }), (changes) => {
          const changed = Buffer.from(bytes)
          for (const [at, value] of changes) changed[at] = value
          expect(passes(changed)).to.be.a('boolean')
        }),
      )
    })
  }

  const fillers: { of: string; after: number; filler: Buffer }[] = [
    { of: 'a PNG', after: 33, filler: Buffer.from('0000000062654e6300000000', 'hex') },
    { of: 'a JPEG', after: 2, filler: Buffer.from('ffe00002', 'hex') },
  ]
  for (const { of, after, filler } of fillers) {
    it(`is refused if it has too many parts: ${of}, ${filler.toString('hex')}`, () => {
      const file = files[of]!
      const filledWith = (parts: number) =>
        Buffer.concat([
          file.subarray(0, after),
          Buffer.alloc(parts * filler.length, filler),
          file.subarray(after),
        ])
      expect(passes(filledWith(1000))).to.equal(true)
      expect(passes(filledWith(800_000))).to.equal(false)
    })
  }

  it('is searched once for its end marker', () => {
    const endless = Buffer.alloc(10 * 2 ** 20, 0xff)
    expect(passes(Buffer.concat([files['a JPEG']!.subarray(0, 300), endless]))).to.equal(false)
  })
})
