import { hash } from 'node:crypto'

/** Ids of tool calls that a vendor takes, and how long those are that take the place of others. */
export type CallIds = { pattern: RegExp; length: number }

/** A call's id as a vendor takes it, also when another vendor gave it; the same for the same id. */
export function callIdFor({ pattern, length }: CallIds, id: string): string {
  return pattern.test(id) ? id : hash('sha256', id, 'hex').slice(0, length)
}
