import { createCipheriv, createHmac, createSecretKey } from 'node:crypto'
import type { Pieces } from '../../bytes/pieces.ts'

/** A digest of bytes, however they are split into pieces. */
export type Fingerprint = (pieces: Pieces) => string

const hashKeyBytes = 16
/** The length of the key of `createFingerprint`. */
export const fingerprintKeyBytes = hashKeyBytes + 32

/**
 * Keyed fingerprints, equal in all processes with the same key, at a tenth of the cost of SHA-256. A GMAC
 * tag (NIST SP 800-38D) hashes the bytes: without the key a collision has a probability of 2^-100. The nonce
 * is constant, so the tag must stay secret and only its HMAC is returned: a hash of a universal family below
 * a pseudo-random function.
 */
export function createFingerprint(key: Buffer): Fingerprint {
  // With raw bytes Node would create a key object for each digest, slower than hashing a few kilobytes.
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
