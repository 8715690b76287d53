import { randomBytes } from 'node:crypto'
import type { ChunkIdentity } from '../../core/chat/chat.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import type { Members } from '../wire/any-json.ts'

/** What an answer is called that does not say it, and how its own names are read. */
export type Naming = { fallback: Omit<ChunkIdentity, 'id'>; texts: VendorTexts }

function isDate(seconds: unknown): seconds is number {
  return typeof seconds === 'number' && seconds >= 0 && seconds <= Number.MAX_SAFE_INTEGER
}

/** The same with what the vendor left out: `id`, or a new one, and the rest from `fallback`. */
export function completeIdentity(given: Members, { fallback, texts }: Naming): ChunkIdentity {
  const { created } = given
  return {
    id: texts.name(given['id']) ?? `chatcmpl-${randomBytes(16).toString('hex')}`,
    created: isDate(created) ? Math.floor(created) : fallback.created,
    model: texts.name(given['model']) ?? fallback.model,
  }
}
