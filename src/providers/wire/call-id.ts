import { hash } from 'node:crypto'

/** The call ids that a vendor accepts, and the length of those that replace others. */
export type CallIds = { pattern: RegExp; length: number }

/** The id itself when the vendor accepts it, else a hash, which is the same for the same id. */
export function callIdFor({ pattern, length }: CallIds, id: string): string {
  return pattern.test(id) ? id : hash('sha256', id, 'hex').slice(0, length)
}
