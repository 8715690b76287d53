import { randomUUID } from 'node:crypto'
import type { VendorTexts } from '../transport/vendor-texts.ts'

/** The id of an answer; a new one of OpenAI's form where the vendor gives none that can be passed on. */
export function answerId(given: unknown, texts: VendorTexts): string {
  return texts.name(given) ?? `chatcmpl-${randomUUID().replaceAll('-', '')}`
}
