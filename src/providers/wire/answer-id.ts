import { randomUUID } from 'node:crypto'
import type { ChunkIdentity } from '../../core/chat/chat.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'

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
