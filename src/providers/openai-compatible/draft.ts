import type { ChatRequest } from '../../core/chat/chat.ts'
import { isIdle } from '../../core/chat/idle.ts'
import { dropped, type Target } from '../../core/model.ts'
import type { Notes } from '../wire/fields.ts'
import type { Abilities, ChatDialect } from './dialect.ts'

/** A request as it is sent: any member, under the names of the vendor. */
export type Body = Record<string, unknown> & Pick<ChatRequest, 'messages'>

/** A request on its way to a vendor's form, and what was adjusted so far. */
export type Draft = Notes & {
  request: Readonly<ChatRequest>
  target: Target
  dialect: ChatDialect
  /** What the catalog or the name tells of the model; undefined when neither does. */
  abilities: Abilities | undefined
  body: Body
}

/** Takes a field out of the body, with a warning unless it has no effect. */
export function drop(field: string, reason: string, draft: Draft): void {
  const { body, target, warnings, problems } = draft
  const value = body[field]
  if (value === undefined) return
  delete body[field]
  if (isIdle(field, value)) return
  // An answer less is no adjustment: the caller counts on it.
  const message = `${target.provider.id} gives one answer a call.`
  if (field === 'n') problems.push({ param: 'n', message })
  else warnings.push(dropped(field, value, reason))
}
