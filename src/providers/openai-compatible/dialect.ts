import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import type { CallIds } from '../wire/call-id.ts'
import { openAiEfforts, openAiToolReasoning, type ToolReasoning } from './openai-reasoning.ts'

type Field = keyof ChatRequest

/** What an answer's message may have besides its content and its calls. */
export const answerFields = [
  'refusal',
  'annotations',
  'images',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  // The official client's own, where it parses an answer.
  'parsed',
] as const
export type AnswerField = (typeof answerFields)[number]

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
  /** What it takes back of an answer that was given before; anything, where this is not said. */
  takesBack?: readonly AnswerField[]
  /** It wants to be told what to keep of a prompt; others, where this is not said, keep it unasked. */
  takesCacheControl?: true
  /** The ids of calls that it takes. */
  callIds?: CallIds
  /** It refuses a call that comes back without the reasoning before it. */
  wantsReasoning?: true
  /** It tells thoughts in its own way (thoughts.ts): what stands in an event that does. */
  ownThoughts?: readonly string[]
  /** The efforts to reason that its model has; of others the nearest is asked for. */
  efforts?: (upstreamModel: string) => readonly ReasoningEffort[] | undefined
  /** How its model goes with tools; freely, where this is not said. */
  toolReasoning?: (upstreamModel: string) => ToolReasoning
  /** It does not fetch pictures. */
  inlineImages?: true
}

const namedReasoning = ['"reasoning":"', '"reasoning": "']
const thinking = (enabled: boolean) => ({ thinking: { type: enabled ? 'enabled' : 'disabled' } })

/** A server that nobody has described is trusted to speak as OpenAI does. */
export const plainDialect: ChatDialect = {}

/** By the id of the vendor. */
export const dialects = {
  openai: {
    takesBack: ['refusal'],
    callIds: { pattern: /^.{1,40}$/s, length: 40 },
    efforts: openAiEfforts,
    toolReasoning: openAiToolReasoning,
    samplingWithoutReasoning: /^gpt-5\.\d/,
  },
  alibaba: {
    takesCacheControl: true,
    takesBack: ['reasoning_content'],
    noDeveloper: true,
    without: ['frequency_penalty', 'logit_bias', 'user'],
    reasoning: (enabled) => ({ enable_thinking: enabled }),
  },
  zai: {
    takesBack: ['reasoning_content'],
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
    takesBack: [],
    noDeveloper: true,
    oneChoice: true,
    without: ['seed', 'user'],
    reasoning: thinking,
  },
  mistral: {
    takesBack: [],
    ownThoughts: ['"content":[', '"content": ['],
    efforts: () => ['none', 'high'],
    callIds: { pattern: /^[a-zA-Z0-9]{9}$/, length: 9 },
    noDeveloper: true,
    alwaysCounts: true,
    without: ['logit_bias', 'logprobs', 'top_logprobs', 'user'],
    renamed: { seed: 'random_seed' },
    requiredToolChoice: 'any',
    finishReasons: { model_length: 'length' },
  },
  deepseek: {
    takesBack: ['reasoning_content'],
    wantsReasoning: true,
    noDeveloper: true,
    oneChoice: true,
    noJsonSchema: true,
    without: ['seed', 'logit_bias', 'parallel_tool_calls', 'user'],
    reasoning: thinking,
    finishReasons: { insufficient_system_resource: 'length' },
  },
  groq: {
    takesBack: [],
    ownThoughts: namedReasoning,
    efforts: () => ['low', 'medium', 'high'],
    oneChoice: true,
    without: ['logit_bias', 'logprobs', 'top_logprobs'],
  },
  xai: {
    takesBack: [],
    without: ['logit_bias'],
    withoutWhenReasoning: ['presence_penalty', 'frequency_penalty', 'stop'],
  },
  together: { takesBack: [], noDeveloper: true },
  openrouter: { ownThoughts: namedReasoning },
  moonshot: { takesBack: ['reasoning_content'], wantsReasoning: true, noDeveloper: true },
} satisfies Record<string, ChatDialect>

/** The dialect of a vendor; a plain one for whoever is not known. */
export function dialectOf(providerId: string): ChatDialect {
  return Object.hasOwn(dialects, providerId)
    ? dialects[providerId as keyof typeof dialects]
    : plainDialect
}
