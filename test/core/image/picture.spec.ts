import { expect } from 'chai'
import sharp from 'sharp'
import { encodeBase64 } from '../../../src/bytes/base64.ts'
import { readPicture } from '../../../src/core/image/picture.ts'
import { cpuMs } from '../../support/cpu-time.ts'

const megabyte = 1_048_576

/** A JPEG segment with arbitrary content. */
function segment(length: number): Buffer {
  const bytes = Buffer.alloc(2 + length)
  bytes.set([0xff, 0xef])
  bytes.writeUInt16BE(length, 2)
  return bytes
}

describe('the size of a picture', () => {
  it('is read after megabytes of metadata, with the orientation applied', async () => {
    const red = { create: { width: 30, height: 20, channels: 3 as const, background: 'red' } }
    const jpeg = await sharp(red).withMetadata({ orientation: 6 }).jpeg().toBuffer()
    const segments = Array.from({ length: 100 }, () => segment(65_535))
    const bytes = Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)])
    for (const file of [jpeg, bytes]) {
      expect(readPicture(encodeBase64([file]))).to.include({
        format: 'jpeg',
        width: 20,
        height: 30,
      })
    }
  })

  it('is searched only up to a limit', () => {
    const start = Buffer.from([0xff, 0xd8, 0xff])
    const files = [
      Buffer.concat([start, Buffer.alloc(20 * megabyte)]),
      Buffer.concat([start, Buffer.alloc(20 * megabyte, 0xff)]),
      Buffer.concat([start.subarray(0, 2), ...Array.from({ length: 300 }, () => segment(65_535))]),
    ]
    for (const file of files) {
      const base64 = encodeBase64([file])
      const ms = cpuMs(() => expect(readPicture(base64)).to.equal(undefined))
      expect(ms).to.be.below(500)
    }
  })
})
