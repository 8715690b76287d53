import { hash, randomBytes } from 'node:crypto'
import type { VendorTexts } from '../transport/vendor-texts.ts'

/** The call ids that a vendor accepts, and the length of replacements for others. */
export type CallIds = { pattern: RegExp; length: number }

/** The id itself if the vendor accepts it, or else a hash, which is the same for the same id. */
export function callIdFor({ pattern, length }: CallIds, id: string): string {
  return pattern.test(id) ? id : hash('sha256', id, 'hex').slice(0, length)
}

/** More calls in an answer than any vendor accepts tools. */
export const callsMax = 1024

/** The vendor's id of a call; a new id if it is missing or unsafe. */
export function callIdOf(given: unknown, texts: VendorTexts): string {
  return texts.name(given) ?? newCallId()
}

export function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`
}
