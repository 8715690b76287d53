import { randomBytes } from 'node:crypto'

const secretBytes = 32

/** 256 random bits in base64url; what is stored of them is `digestOf`. */
export function createToken(): string {
  return randomBytes(secretBytes).toString('base64url')
}
