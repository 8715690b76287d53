import { randomUUID } from 'node:crypto'
import { textIn } from './any-json.ts'

/** The id of an answer; a new one of OpenAI's form where the vendor gives none. */
export function answerId(given: unknown): string {
  return textIn(given) ?? `chatcmpl-${randomUUID().replaceAll('-', '')}`
}
