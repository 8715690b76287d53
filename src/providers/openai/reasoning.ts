import type { ReasoningEffort } from '../../core/chat/chat.ts'
import type { ToolReasoning } from '../openai-compatible/dialect.ts'

const byGeneration: readonly [RegExp, readonly ReasoningEffort[]][] = [
  [/^gpt-6(?:-(?:sol|luna)|\.1-terra)/, ['none', 'low', 'medium', 'high', 'xhigh', 'max']],
  [/^gpt-(?:[6-9]|\d\d)/, ['low', 'medium', 'high', 'xhigh', 'max']],
  [/^gpt-5\.1/, ['none', 'low', 'medium', 'high']],
  [/^gpt-5\.\d/, ['none', 'low', 'medium', 'high', 'xhigh']],
  [/^gpt-5/, ['minimal', 'low', 'medium', 'high']],
  [/^o\d/, ['low', 'medium', 'high']],
]

/** The efforts of OpenAI's models (providers.md section 5.5, and the vendor's own errors); undefined where nobody has said. */
export function efforts(model: string): readonly ReasoningEffort[] | undefined {
  return byGeneration.find(([generation]) => generation.test(model))?.[1]
}

/** Since 5.4 a model reasons beside function tools on the Responses endpoint alone. */
const apart = /^gpt-(?:5\.[4-9]|[6-9]|\d\d)/
/** Since 5.6 it reasons unless it is told not to. */
const unasked = /^gpt-(?:5\.[6-9]|[6-9]|\d\d)/

/** What OpenAI answers to tools and an effort (its own errors of 2026; docs: Reasoning, Migrate to Responses). */
export function toolReasoning(model: string): ToolReasoning {
  if (!apart.test(model)) return 'free'
  if (efforts(model)?.includes('none') !== true) return 'apart'
  return unasked.test(model) ? 'silenced' : 'quiet'
}
