import type { components } from '../../../../generated/types.ts'
import { isMembers, itemsOf, membersOf, textIn, type Members } from '../../../core/any-json.ts'

type ToolCall = components['schemas']['ToolCall']

/** A reasoning item whose text only OpenAI can decrypt. */
export type Thought = { id: string; encrypted_content: string }

/** The thought in an output item; undefined for other items and without `encrypted_content`. */
export function thoughtIn(item: Members): Thought | undefined {
  return item['type'] === 'reasoning' ? encryptedIn(item) : undefined
}

/** The encrypted content of an item; undefined without it. */
export function encryptedIn(item: Members): Thought | undefined {
  const id = textIn(item['id'])
  const encrypted = textIn(item['encrypted_content'])
  if (id === undefined || encrypted === undefined) return undefined
  return { id, encrypted_content: encrypted }
}

/** Attaches the thoughts before a call to the call, so that the client sends them back with its result. */
export function withThoughts<Call extends object>(
  call: Call,
  thoughts: readonly Thought[],
  model: string,
) {
  return thoughts.length === 0 ? call : { ...call, extra_content: extraOf(thoughts, model) }
}

/** The thoughts of a model as data that the caller sends back. */
export function extraOf(reasoning: readonly Thought[], model: string) {
  return { openai: { model, reasoning } }
}

/**
 * The thoughts that the client sent back with a call. Only the model that made them can use them
 * (docs/vendors.md#openai-responses): those of another model, or malformed ones, are `isDropped`.
 */
export function thoughtsOfCall(
  { extra_content: extra }: Pick<ToolCall, 'extra_content'>,
  model: string,
): { thoughts: Thought[]; isDropped: boolean } {
  const given = membersOf(extra)['openai']
  const { model: thinker, reasoning } = membersOf(given)
  const thoughts = itemsOf(reasoning).flatMap((one) =>
    isMembers(one) ? (encryptedIn(one) ?? []) : [],
  )
  const isWhole = thinker === model && thoughts.length === itemsOf(reasoning).length
  return { thoughts: isWhole ? thoughts : [], isDropped: given !== undefined && !isWhole }
}
