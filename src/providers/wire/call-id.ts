import { hash, randomBytes } from 'node:crypto'
import type { VendorTexts } from '../transport/vendor-texts.ts'

/** The call ids that a vendor accepts, and the length of those that replace others. */
export type CallIds = { pattern: RegExp; length: number }

/** The id itself when the vendor accepts it, else a hash, which is the same for the same id. */
export function callIdFor({ pattern, length }: CallIds, id: string): string {
  return pattern.test(id) ? id : hash('sha256', id, 'hex').slice(0, length)
}

/** More calls in one answer than tools that any vendor takes. */
export const callsMax = 1024

/** The id that a vendor gives a call; a new one where it gives none that can be passed on. */
export function callIdOf(given: unknown, texts: VendorTexts): string {
  return texts.name(given) ?? newCallId()
}

export function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`
}
