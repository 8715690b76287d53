import { bodyMembers } from '../../../generated/operations.ts'
import type { Warning } from '../model.ts'
import { nearName } from '../near-name.ts'
import type { ChatRequest } from './chat.ts'

const known: readonly string[] = bodyMembers.createChatCompletion
const isKnown: ReadonlySet<string> = new Set(known)

/**
 * A warning for each field that is nearly one of the contract's. It is passed on all the same, as
 * every field is that the contract does not list.
 */
export function misspelledFields(request: ChatRequest): Warning[] {
  const warnings: Warning[] = []
  for (const [name, value] of Object.entries(request)) {
    const meant = isKnown.has(name) ? undefined : nearName(name, known)
    if (meant === undefined) continue
    const reason = `The contract has no '${name}'. Did you mean '${meant}'?`
    warnings.push({ param: name, requested: value, applied: value, reason })
  }
  return warnings
}
