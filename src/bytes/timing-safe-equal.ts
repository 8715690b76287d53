import { timingSafeEqual } from 'node:crypto'

/** Whether two texts are equal, in a time that depends only on their length. */
export function timingSafeEqualText(text: string, secret: string): boolean {
  const [one, other] = [Buffer.from(text), Buffer.from(secret)]
  return one.length === other.length && timingSafeEqual(one, other)
}
