import { timingSafeEqual } from 'node:crypto'

/** Whether a text that was given is the secret one; takes as long for each other of its length. */
export function isSameText(given: string, secret: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(secret)]
  return one.length === other.length && timingSafeEqual(one, other)
}
