import { createCipheriv, createHmac, createSecretKey } from 'node:crypto'
import type { Pieces } from '../../bytes/pieces.ts'

/** A digest of bytes, however they are split into pieces. */
export type Fingerprint = (pieces: Pieces) => string

const hashKeyBytes = 16
/** The length of the key of `createFingerprint`. */
export const fingerprintKeyBytes = hashKeyBytes + 32

/**
 * Fingerprints that are the same wherever the key is, at a tenth of the cost of SHA-256. A GMAC tag
 * (NIST SP 800-38D) hashes the bytes: whoever does not have the key finds others of the same tag with
 * a probability of 2^-100. With a constant nonce that holds only while nobody sees a tag, so it is
 * an HMAC of the tag that is given away: a hash of a universal family below a pseudo-random function.
 */
export function createFingerprint(key: Buffer): Fingerprint {
  // Bytes would be made a key of for each digest, which takes longer than that of a few kilobytes.
  const hashKey = createSecretKey(key.subarray(0, hashKeyBytes))
  const outerKey = createSecretKey(key.subarray(hashKeyBytes))
  const nonce = Buffer.alloc(12)
  return (pieces) => {
    const cipher = createCipheriv('aes-128-gcm', hashKey, nonce)
    for (const piece of pieces) cipher.setAAD(piece)
    cipher.final()
    return createHmac('sha256', outerKey).update(cipher.getAuthTag()).digest('base64url')
  }
}
