import type { ChatRequest } from '../../core/chat.ts'

type Field = keyof ChatRequest

/** In what a vendor's chat differs from OpenAI's (providers.md sections 2.7, 3.6, 4.1, 5.5, 7, 8). */
export type ChatDialect = {
  /** Fields that it refuses or passes over. */
  without?: readonly Field[]
  /** Fields that only its models that reason refuse. */
  withoutWhenReasoning?: readonly Field[]
  /** Fields that it knows under another name. */
  renamed?: Partial<Record<Field, string>>
  /** It answers once, whatever `n` is. */
  oneChoice?: true
  /** It knows JSON without a schema alone. */
  noJsonSchema?: true
  /** `tool_choice` has no `required` there, or another word for it. */
  requiredToolChoice?: 'auto' | 'any'
  /** How it is told whether to reason, where it has no efforts. */
  reasoning?: (enabled: boolean) => object
  /** Models that take the sampling fields as long as they do not reason. */
  samplingWithoutReasoning?: RegExp
  /** It knows no developer, only the system. */
  noDeveloper?: true
  /** It counts every stream, and refuses to be asked to. */
  alwaysCounts?: true
  /** Its reasons to end, in OpenAI's words. */
  finishReasons?: Readonly<Record<string, string>>
  /** It does not fetch pictures. */
  inlineImages?: true
}

const thinking = (enabled: boolean) => ({ thinking: { type: enabled ? 'enabled' : 'disabled' } })

/** A server that nobody has described is trusted to speak as OpenAI does. */
export const plainDialect: ChatDialect = {}

/** By the id of the vendor. */
export const dialects = {
  openai: { samplingWithoutReasoning: /^gpt-5\.\d/ },
  alibaba: {
    noDeveloper: true,
    without: ['frequency_penalty', 'logit_bias', 'user'],
    reasoning: (enabled) => ({ enable_thinking: enabled }),
  },
  zai: {
    noDeveloper: true,
    oneChoice: true,
    noJsonSchema: true,
    without: [
      'seed',
      'presence_penalty',
      'frequency_penalty',
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'parallel_tool_calls',
    ],
    renamed: { user: 'user_id' },
    requiredToolChoice: 'auto',
    reasoning: thinking,
    finishReasons: { sensitive: 'content_filter' },
  },
  bytedance: {
    noDeveloper: true,
    oneChoice: true,
    without: ['seed', 'user'],
    reasoning: thinking,
  },
  mistral: {
    noDeveloper: true,
    alwaysCounts: true,
    without: ['logit_bias', 'logprobs', 'top_logprobs', 'user'],
    renamed: { seed: 'random_seed' },
    requiredToolChoice: 'any',
    finishReasons: { model_length: 'length' },
  },
  deepseek: {
    noDeveloper: true,
    oneChoice: true,
    noJsonSchema: true,
    without: ['seed', 'logit_bias', 'parallel_tool_calls', 'user'],
    reasoning: thinking,
    finishReasons: { insufficient_system_resource: 'length' },
  },
  groq: { oneChoice: true, without: ['logit_bias', 'logprobs', 'top_logprobs'] },
  xai: {
    without: ['logit_bias'],
    withoutWhenReasoning: ['presence_penalty', 'frequency_penalty', 'stop'],
  },
  together: { noDeveloper: true },
  openrouter: {},
  moonshot: { noDeveloper: true },
} satisfies Record<string, ChatDialect>

/** The dialect of a vendor; a plain one for whoever is not known. */
export function dialectOf(providerId: string): ChatDialect {
  return Object.hasOwn(dialects, providerId)
    ? dialects[providerId as keyof typeof dialects]
    : plainDialect
}
