import type { ReasoningEffort } from '../../core/chat/chat.ts'
import type { ToolReasoning } from '../openai-compatible/dialect.ts'
import { imageAdapter } from '../openai-compatible/image.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** OpenAI itself (docs/vendors.md#openai). */
export const openai = protocolVendor({
  id: 'openai',
  name: 'OpenAI',
  baseUrl: 'https://api.openai.com/v1',
  thoughtsShown: 'never',
  dialect: {
    takesBack: ['refusal'],
    callIds: { pattern: /^.{1,40}$/s, length: 40 },
    efforts,
    toolReasoning,
    samplingWithoutReasoning: /^gpt-5\.\d/,
  },
  image: (endpoint) => imageAdapter({ ...endpoint, edits: 'json' }),
})

const byGeneration: readonly [RegExp, readonly ReasoningEffort[]][] = [
  [/^gpt-6(?:-(?:sol|luna)|\.1-terra)/, ['none', 'low', 'medium', 'high', 'xhigh', 'max']],
  [/^gpt-(?:[6-9]|\d\d)/, ['low', 'medium', 'high', 'xhigh', 'max']],
  [/^gpt-5\.1/, ['none', 'low', 'medium', 'high']],
  [/^gpt-5\.\d/, ['none', 'low', 'medium', 'high', 'xhigh']],
  [/^gpt-5/, ['minimal', 'low', 'medium', 'high']],
  [/^o\d/, ['low', 'medium', 'high']],
]

/** The efforts of a model (docs/vendors.md#openai-efforts-and-tools); undefined if unknown. */
function efforts(model: string): readonly ReasoningEffort[] | undefined {
  return byGeneration.find(([generation]) => generation.test(model))?.[1]
}

/** From 5.4 on reasoning with function tools works only on the Responses endpoint. */
const apart = /^gpt-(?:5\.[4-9]|[6-9]|\d\d)/
/** From 5.6 on models reason by default. */
const unasked = /^gpt-(?:5\.[6-9]|[6-9]|\d\d)/

/** Whether a model reasons together with tools (docs/vendors.md#openai-efforts-and-tools). */
function toolReasoning(model: string): ToolReasoning {
  if (!apart.test(model)) return 'free'
  if (efforts(model)?.includes('none') !== true) return 'apart'
  return unasked.test(model) ? 'silenced' : 'quiet'
}
