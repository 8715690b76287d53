import { randomUUID } from 'node:crypto'
import type { VendorTexts } from '../transport/vendor-texts.ts'

/** The id of an answer; a new id in OpenAI's form if the vendor's is missing or unsafe. */
export function answerId(given: unknown, texts: VendorTexts): string {
  return texts.name(given) ?? `chatcmpl-${randomUUID().replaceAll('-', '')}`
}
