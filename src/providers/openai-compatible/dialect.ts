import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import type { CallIds } from '../wire/call-id.ts'

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
  /** The member of a chunk in which its counts stand, when not in `usage` alone. */
  usageMember?: string
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

/** How a model goes with function tools on this endpoint. */
export type ToolReasoning =
  /** As with anything else. */
  | 'free'
  /** Without reasoning, as it is where no effort is asked. */
  | 'quiet'
  /** Without reasoning, which it has to be told. */
  | 'silenced'
  /** Not at all: it cannot do without reasoning. */
  | 'apart'

/** What stands in an event of a vendor that tells thoughts as `reasoning`. */
export const namedReasoning = ['"reasoning":"', '"reasoning": "']

/** Reasoning that is switched on or off in a field `thinking`. */
export function thinkingSwitch(enabled: boolean): object {
  return { thinking: { type: enabled ? 'enabled' : 'disabled' } }
}

/** A server that nobody has described is trusted to speak as OpenAI does. */
export const plainDialect: ChatDialect = {}
