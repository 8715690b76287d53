import { hash, randomBytes, randomUUID } from 'node:crypto'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import type { ChunkIdentity } from '../../core/chat/chat.ts'

/** The call ids that a vendor accepts, and the length of an id that replaces any other id. */
export type CallIds = { pattern: RegExp; length: number }

/** The given id if the vendor accepts it, or else its hash, so that equal ids stay equal. */
export function callIdFor({ pattern, length }: CallIds, id: string): string {
  return pattern.test(id) ? id : hash('sha256', id, 'hex').slice(0, length)
}

/** Limit of calls in an answer; no vendor accepts as many tools. */
export const callsMax = 1024

/** The vendor's id of a call; a new id if it is missing or unsafe. */
export function callIdOf(id: unknown, texts: VendorTexts): string {
  return texts.name(id) ?? newCallId()
}

export function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`
}

/** The id of an answer; a new id in OpenAI's form if the vendor's is missing or unsafe. */
export function answerId(id: unknown, texts: VendorTexts): string {
  return texts.name(id) ?? `chatcmpl-${randomUUID().replaceAll('-', '')}`
}

/** Id, date and model of an answer, whose id and model the vendor may omit. */
export function identityOf(
  { id, model }: { id?: unknown; model?: unknown },
  from: { createdSeconds: number; upstreamModel: string; texts: VendorTexts },
): ChunkIdentity {
  const { createdSeconds: created, upstreamModel, texts } = from
  return { id: answerId(id, texts), created, model: texts.name(model) ?? upstreamModel }
}
