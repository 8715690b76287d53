import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Mode } from '../core/caller.ts'

const secretBytes = 32
const shape = /^mag_(live|test)_([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{6})$/

/** `mag_<mode>_`, 256 random bits in base64url, and a checksum that detects typing errors. */
export function createKey(mode: Mode): string {
  return createSecret(mode)
}

/** A client secret: `mag_secret_`, then random bits and a checksum as in a key. */
export function createClientSecret(): string {
  return createSecret('secret')
}

function createSecret(kind: Mode | 'secret'): string {
  const body = `mag_${kind}_${randomBytes(secretBytes).toString('base64url')}`
  return body + checksum(body)
}

/** A token for a cookie or a one-time link: 256 random bits in base64url. Only its digest is stored. */
export function createToken(): string {
  return randomBytes(secretBytes).toString('base64url')
}

/** Whether a text has the form and checksum of a key; any other text needs no look-up. */
export function isWellFormedKey(text: string): boolean {
  return shape.test(text) && text.slice(-6) === checksum(text.slice(0, -6))
}

/** The stored digest of a key: SHA-256, since a random key of 256 bits needs no slower hash. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'base64url')
}

/** Prefix and last four characters, by which people recognise a key. */
export function hintOf(key: string): string {
  return `${key.slice(0, key.indexOf('_', 4) + 1)}…${key.slice(-4)}`
}

function checksum(body: string): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(body))
  return bytes.toString('base64url')
}
