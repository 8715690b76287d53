import { randomUUID } from 'node:crypto'

/** A new id with a prefix for its type: `acc` for an account, `key` for an API key, and so on. */
export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`
}
