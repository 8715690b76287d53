import { randomBytes } from 'node:crypto'
import type { ChunkIdentity } from '../../core/chat/chat.ts'
import type { Members } from '../wire/any-json.ts'
import { isName } from './members.ts'

/** Whether an answer or chunk has what all of OpenAI's have. */
export function isWhole({ id, object, created, model }: Members, named: string): boolean {
  return isName(id) && object === named && Number.isSafeInteger(created) && isName(model)
}

/** The same with what the vendor left out: `id`, or a new one, and the rest from `fallback`. */
export function completeIdentity(
  given: Members,
  fallback: Omit<ChunkIdentity, 'id'>,
  id?: string,
): ChunkIdentity {
  const { created, model } = given
  return {
    id: isName(given['id']) ? given['id'] : (id ?? `chatcmpl-${randomBytes(16).toString('hex')}`),
    created: typeof created === 'number' && created >= 0 ? Math.floor(created) : fallback.created,
    model: isName(model) ? model : fallback.model,
  }
}
