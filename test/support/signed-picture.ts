import { crc32 } from 'node:zlib'
import type { PictureFormat } from './image-doubles/paint.ts'

/** A minimal manifest: a JUMBF superbox whose description says `c2pa`. */
const manifest = Buffer.from('0000002a6a756d62000000226a756d6463327061', 'hex')

/** Adds a C2PA manifest to a picture, at the place where the picture's format stores manifests. */
export function signed(bytes: Buffer, format: PictureFormat): Buffer {
  if (format === 'png') {
    const typed = Buffer.concat([Buffer.from('caBX'), manifest])
    const chunk = Buffer.concat([uint32(manifest.length), typed, uint32(crc32(typed))])
    return Buffer.concat([bytes.subarray(0, 33), chunk, bytes.subarray(33)])
  }
  if (format === 'jpeg') {
    const payload = Buffer.concat([Buffer.from('4a5000010000001', 'hex'), manifest])
    const head = Buffer.from([0xff, 0xeb, 0, payload.length + 2])
    return Buffer.concat([bytes.subarray(0, 2), head, payload, bytes.subarray(2)])
  }
  const length = Buffer.alloc(4)
  length.writeUInt32LE(manifest.length)
  const whole = Buffer.concat([bytes, Buffer.from('C2PA'), length, manifest])
  whole.writeUInt32LE(whole.length - 8, 4)
  return whole
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
