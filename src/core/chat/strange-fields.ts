import { bodyMembers } from '../../../generated/operations.ts'
import { dropped, type Warning } from '../model.ts'
import { nearName } from '../words/near-name.ts'
import type { ChatRequest } from './chat.ts'
import { fieldHint } from './other-apis.ts'

const known: readonly string[] = bodyMembers.createChatCompletion
const isKnown: ReadonlySet<string> = new Set(known)

/** What is meant by a field that the contract does not list; `isVendors` where some vendors of OpenAI's shape read it. */
type Hint = { reason: string; isVendors: boolean }
export type FieldHints = ReadonlyMap<string, Hint>

const vendorsFields: ReadonlySet<string> = new Set(['reasoning', 'thinking', 'top_k'])

/** What the fields of a request are meant for that the contract does not list; undefined for none. */
export function fieldHints(request: ChatRequest): FieldHints | undefined {
  let hints: Map<string, Hint> | undefined
  for (const name in request) {
    const hint = isKnown.has(name) ? undefined : hintFor(name)
    if (hint !== undefined) (hints ??= new Map()).set(name, hint)
  }
  return hints
}

function hintFor(name: string): Hint | undefined {
  const hint = fieldHint(name)
  if (hint !== undefined) return { reason: hint, isVendors: vendorsFields.has(name) }
  const meant = nearName(name, known)
  if (meant === undefined) return undefined
  return { reason: `The contract has no '${name}'. Did you mean '${meant}'?`, isVendors: false }
}

/**
 * The warnings of a route, in which one of a field says what is meant by it. A field that is passed on has one too,
 * unless it may be the vendor's own.
 */
export function withHints(
  warnings: readonly Warning[],
  request: ChatRequest,
  hints: FieldHints,
): Warning[] {
  const told = warnings.map((warning) => {
    const hint = hints.get(warning.param)
    return hint === undefined ? warning : dropped(warning.param, warning.requested, hint.reason)
  })
  const isTold = new Set(warnings.map(({ param }) => param))
  for (const [name, { reason, isVendors }] of hints) {
    if (isVendors || isTold.has(name)) continue
    const value: unknown = Reflect.get(request, name)
    told.push({ param: name, requested: value, applied: value, reason })
  }
  return told
}
