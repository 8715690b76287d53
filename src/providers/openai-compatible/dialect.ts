import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import type { CallIds } from '../wire/call-id.ts'
import type { ReadCost } from './usage.ts'

type Field = keyof ChatRequest

/** Members of an assistant message besides its content and its tool calls. */
export const answerFields = [
  'refusal',
  'annotations',
  'images',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  // Added by OpenAI's client when it parses a structured answer.
  'parsed',
] as const
export type AnswerField = (typeof answerFields)[number]

/** How a vendor's chat differs from OpenAI's (docs/vendors.md#openai-compatible-endpoints). */
export type ChatDialect = {
  /** Fields that it refuses or ignores. */
  without?: readonly Field[]
  /** Fields that its reasoning models refuse. */
  withoutWhenReasoning?: readonly Field[]
  /** Fields that it takes under another name. */
  renamed?: Partial<Record<Field, string>>
  /** It gives one choice, whatever `n` is. */
  oneChoice?: true
  /** It takes `json_object`, but no `json_schema`. */
  noJsonSchema?: true
  /** What it takes instead of `required`: only `auto`, or the synonym `any`. */
  requiredToolChoice?: 'auto' | 'any'
  /** The members that switch reasoning on or off, for a vendor without efforts. */
  reasoning?: (enabled: boolean) => object
  /** Models that take the sampling fields with effort `none`. */
  samplingWithoutReasoning?: RegExp
  /** It has no role `developer`, only `system`. */
  noDeveloper?: true
  /** It counts the tokens of every stream and refuses `stream_options`. */
  alwaysCounts?: true
  /** The member of a chunk whose `usage` may hold the token counts. */
  usageMember?: string
  /** Reads what the vendor itself charges out of a `usage`, of chat and of pictures. */
  readCost?: ReadCost
  /** OpenAI's finish reasons by those of the vendor. */
  finishReasons?: Readonly<Record<string, string>>
  /** Members of earlier answers that it accepts; all of them when absent. */
  takesBack?: readonly AnswerField[]
  /** It takes `cache_control`; else those marks are removed, unless `takesBack` is absent. */
  takesCacheControl?: true
  /** The ids of tool calls that it accepts. */
  callIds?: CallIds
  /** It refuses a returned tool call without `reasoning_content`. */
  wantsReasoning?: true
  /** Texts that occur in events with reasoning in a format of its own (thoughts.ts). */
  ownThoughts?: readonly string[]
  /** The efforts that a model has, in rising order; for others the nearest is sent. */
  efforts?: (upstreamModel: string) => readonly ReasoningEffort[] | undefined
  /** Whether a model reasons together with tools; `free` when absent. */
  toolReasoning?: (upstreamModel: string) => ToolReasoning
  /** It fetches no images: they are sent as data URLs. */
  inlineImages?: true
}

/** How a model combines reasoning and function tools on this endpoint. */
export type ToolReasoning =
  /** Both together. */
  | 'free'
  /** Tools without reasoning; it does not reason unless an effort is sent. */
  | 'quiet'
  /** Tools without reasoning; effort `none` must be sent, since it reasons by default. */
  | 'silenced'
  /** No tools: it cannot switch reasoning off. */
  | 'apart'

/** `ownThoughts` of a vendor that sends reasoning as `reasoning`. */
export const namedReasoning = ['"reasoning":"', '"reasoning": "']

/** `reasoning` of a vendor that switches it in a member `thinking`. */
export function thinkingSwitch(enabled: boolean): object {
  return { thinking: { type: enabled ? 'enabled' : 'disabled' } }
}

/** For an endpoint without a known dialect: nothing differs from OpenAI. */
export const plainDialect: ChatDialect = {}
