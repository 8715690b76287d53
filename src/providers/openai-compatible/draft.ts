import type { ChatRequest } from '../../core/chat/chat.ts'
import { hasDefaultValue } from '../../core/chat/default-values.ts'
import { dropped, type Target } from '../../core/model.ts'
import type { Notes } from '../wire/fields.ts'
import type { Abilities, ChatDialect } from './dialect.ts'

/** The body of a request, with members under the vendor's names. */
export type Body = Record<string, unknown> & Pick<ChatRequest, 'messages'>

/** A request during its translation, with the adjustments so far. */
export type Draft = Notes & {
  request: Readonly<ChatRequest>
  target: Target
  dialect: ChatDialect
  /** Abilities by the catalog or by the model's name; undefined if neither describes the model. */
  abilities: Abilities | undefined
  body: Body
}

/** Removes a field from the body: JSON leaves it out. After `delete`, V8 would print the body more slowly. */
export function leaveOut(field: string, body: Record<string, unknown>): void {
  if (body[field] !== undefined) body[field] = undefined
}

/** Removes a field from the body, with a warning unless it has no effect. */
export function drop(field: string, reason: string, draft: Draft): void {
  const { body, target, warnings, problems } = draft
  const value = body[field]
  if (value === undefined) return
  leaveOut(field, body)
  if (hasDefaultValue(field, value)) return
  const { id } = target.provider
  // The caller relies on the number of answers and on its tools, so their loss is an error.
  if (field === 'n') problems.push({ param: 'n', message: `${id} returns one answer per call.` })
  else if (field === 'tools') problems.push({ param: 'tools', message: `${id} takes no tools.` })
  else warnings.push(dropped(field, value, reason))
}
