import type { components } from '../../../generated/types.ts'
import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import type { FailureKind } from '../../core/failure.ts'
import type { Warning } from '../../core/model.ts'
import type { Complaint } from '../transport/complaint.ts'
import type { CallIds } from '../wire/call-id.ts'
import type { ReadCost } from './usage.ts'
import type { DescribedImages, ImageCall, ImagePlan, ImageSource } from '../../core/image/image.ts'
import type { Endpoint } from '../transport/endpoint.ts'

export type Message = ChatRequest['messages'][number]
type Part = components['schemas']['ContentPart']
/** How a model differs from the others of its provider (openapi.yaml, ChatAbilities). */
export type Abilities = components['schemas']['ChatAbilities']

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

/** Fields of OpenAI's platform that vendors of its protocol mostly ignore. */
const platformFields = [
  'audio',
  'metadata',
  'modalities',
  'moderation',
  'prediction',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'store',
  'verbosity',
  'web_search_options',
] as const

/** Those fields of OpenAI's platform that a vendor does not take, by those that it does. */
export function platformFieldsBut(...taken: (typeof platformFields)[number][]): readonly string[] {
  return platformFields.filter((field) => !taken.includes(field))
}

/**
 * How a vendor's chat differs from OpenAI's (docs/vendors.md#openai-compatible-endpoints). What is
 * absent does not differ. A vendor without `takesBack` is open: nothing is left out for it.
 */
export type ChatDialect = {
  /** The header in which it takes an idempotency key. */
  idempotencyHeader?: string
  // Which fields of the request it takes.
  /** The only fields of its closed body, under its own names. */
  only?: ReadonlySet<string>
  /** Fields that its open body ignores or refuses; `n` means one answer a call. */
  without?: readonly string[]
  /** Fields that its reasoning models refuse. */
  withoutWhenReasoning?: readonly string[]
  /** Fields that it takes under another name. */
  renamed?: Readonly<Record<string, string>>
  /** The only values that it takes of a field. */
  values?: Readonly<Record<string, readonly string[]>>
  /** How it names the limit of the answer, for models that the catalog does not describe. */
  limit?: 'max_tokens' | 'max_completion_tokens'
  /** Stops are a list, or as few as this. */
  stops?: { listed?: true; max?: number }
  /** `logprobs` is the number of tokens to tell. */
  countedLogprobs?: true
  /** It counts the tokens of every stream and refuses `stream_options`. */
  alwaysCounts?: true
  /** It takes `json_object`, but no `json_schema`. */
  noJsonSchema?: true
  /** A `json_schema` has to have a schema. */
  wantsSchema?: true

  // Tools.
  /** It takes custom tools, allowed tools and the old functions. */
  customTools?: true
  /** What it takes instead of `required`: only `auto`, or the synonym `any`. */
  requiredToolChoice?: 'auto' | 'any'
  /** A function has to have parameters. */
  wantsParameters?: true
  /** The ids of tool calls that it accepts. */
  callIds?: CallIds

  // Thinking.
  /** The members that switch it on or off; else the effort does. */
  thinking?: (enabled: boolean) => object
  /** The efforts of its models, in rising order, unless they have others. */
  efforts?: readonly ReasoningEffort[]
  /** What models can do by their names, for those whose catalog row does not say. */
  families?: readonly (readonly [RegExp, Abilities])[]

  // The conversation.
  /** It has no role `developer`, only `system`. */
  noDeveloper?: true
  /** Messages have no `name`. */
  noNames?: true
  /** Writes a content part in its own words. */
  part?: (part: Part) => object
  /** Puts messages in an order of roles that it accepts; `places` are those that they had. */
  arrange?: (messages: Message[], places: readonly number[], warnings: Warning[]) => Message[]
  /** Members of earlier answers that it accepts; all of them when absent. */
  takesBack?: readonly (AnswerField | 'audio')[]
  /** The member of a part that marks what it may keep of the prompt. */
  partMark?: string
  /** It takes `cache_control`; else those marks are removed, unless `takesBack` is absent. */
  takesCacheControl?: true
  /** It refuses a returned tool call without `reasoning_content`. */
  wantsReasoning?: true
  /** It fetches no images: they are sent as data URLs. */
  inlineImages?: true

  // Its answers.
  /** The member of a chunk whose `usage` may hold the token counts. */
  usageMember?: string
  /** Reads what the vendor itself charges out of a `usage`, of chat and of pictures. */
  readCost?: ReadCost
  /** The kind of failure that its own codes mean; undefined where the status decides. */
  failureKind?: (complaint: Complaint) => FailureKind | undefined
  /** OpenAI's finish reasons by those of the vendor. */
  finishReasons?: Readonly<Record<string, string>>
}

/** `thinking` of a vendor that switches it in a member of that name. */
export function thinkingSwitch(enabled: boolean): object {
  return { thinking: { type: enabled ? 'enabled' : 'disabled' } }
}

/** For an endpoint without a known dialect: nothing differs from OpenAI. */
export const plainDialect: ChatDialect = {}

/** An item of an answer's `data`, as far as a vendor marks it in a way of its own. */
export type ImageItem = Readonly<Record<string, unknown>>

/** How a vendor's pictures differ from those of OpenAI-compatible servers. */
export type ImageDialect = {
  /** Members of each request beyond OpenAI's fields; `response_format: b64_json` when absent. */
  more?: (call: ImageCall) => object
  /** How a size is asked for; as `size` in pixels when absent. */
  shape?: (plan: ImagePlan) => object
  /** How input pictures are sent as JSON; as a form to `/images/edits` when absent. */
  edits?: { path: string; inputs: (sources: readonly ImageSource[]) => object }
  /** Whether an item is a placeholder for a picture that the vendor refused as unsafe. */
  isRefused?: (item: ImageItem) => boolean
  /** The header in which it takes an idempotency key. */
  idempotencyHeader?: string
  /** What the vendor makes with models that the catalog does not list. */
  unlisted?: DescribedImages
}

/** The members that every request to OpenAI-compatible servers has: they answer URLs otherwise. */
export const asBase64 = () => ({ response_format: 'b64_json' })

/** An endpoint that speaks OpenAI's protocol, with its deviations. */
export type OpenAiEndpoint = Endpoint & {
  /** How its chat differs from OpenAI's. */
  dialect?: ChatDialect
  /** How its pictures differ. */
  imageDialect?: ImageDialect
}
