import type { components } from '../../../generated/types.ts'
import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import type { EmbeddingAdapter } from '../../core/embedding/embedding.ts'
import type { FailureKind } from '../../core/failure.ts'
import type { Warning } from '../../core/model.ts'
import type { Complaint } from '../transport/complaint.ts'
import type { CallIds } from '../wire/ids.ts'
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
  // OpenAI's client adds `parsed` when it parses a structured answer.
  'parsed',
] as const
export type AnswerField = (typeof answerFields)[number]

/** Fields that each vendor accepts, also those that refuse unknown fields. */
export const commonFields: readonly string[] = [
  'messages',
  'model',
  'reasoning_effort',
  'response_format',
  'stop',
  'stream',
  'temperature',
  'tool_choice',
  'tools',
  'top_p',
]

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

/** The fields of OpenAI's platform without those that the vendor accepts. */
export function platformFieldsExcept(
  ...taken: (typeof platformFields)[number][]
): readonly string[] {
  return platformFields.filter((field) => !taken.includes(field))
}

/**
 * How a vendor's chat differs from OpenAI's (docs/vendors.md#openai-compatible-endpoints). An
 * absent member means no difference. Requests to a vendor without `takesBack` are not filtered.
 */
export type ChatDialect = {
  idempotencyHeader?: string
  /** The name of the API in warnings; the vendor's id when absent. */
  name?: string
  // Fields of the request.
  /** The only accepted fields, under the vendor's names; the vendor rejects any other field. */
  only?: ReadonlySet<string>
  /** Fields that the vendor ignores or rejects; `n` means one answer per call. */
  without?: readonly string[]
  /** Fields that the vendor's reasoning models reject. */
  withoutWhenReasoning?: readonly string[]
  /** The vendor's names of fields, by the contract's names. */
  renamed?: Readonly<Record<string, string>>
  /** The values of a field that the vendor accepts. */
  values?: Readonly<Record<string, readonly string[]>>
  /** The vendor's name of the token limit, for models that the catalog does not describe. */
  limit?: 'max_tokens' | 'max_completion_tokens'
  /** `listed`: stop sequences must be a list; `max`: the number that the vendor accepts. */
  stops?: { listed?: true; max?: number }
  /** The vendor's `logprobs` is the number of alternatives per token, not a boolean. */
  countedLogprobs?: true
  /** The vendor counts the tokens of every stream and refuses `stream_options`. */
  alwaysCounts?: true
  /** The vendor accepts `json_object`, but not `json_schema`. */
  noJsonSchema?: true
  /** A `json_schema` must contain a schema. */
  wantsSchema?: true

  // Tools.
  /** The vendor accepts custom tools, `allowed_tools` and deprecated functions. */
  customTools?: true
  /** The vendor's tool choice for `required`: `auto` if it cannot force a call, or the synonym `any`. */
  requiredToolChoice?: 'auto' | 'any'
  /** A function must have parameters. */
  wantsParameters?: true
  /** The ids of tool calls that the vendor accepts. */
  callIds?: CallIds
  /** Keeps `extra_content` of returned tool calls. */
  takesExtraContent?: true

  // Thinking.
  /** The members that switch thinking on or off; when absent, the effort does. */
  thinking?: (enabled: boolean) => object
  /** Models accept tools while they think, even if their `tools_while_thinking` is `none`. */
  toolsWhileThinking?: true
  /** The efforts of the vendor's models in ascending order; a model's own efforts take precedence. */
  efforts?: readonly ReasoningEffort[]
  /** Abilities by model name, for models that the catalog does not describe. */
  families?: readonly (readonly [RegExp, Abilities])[]

  // The conversation.
  /** The vendor has no role `developer`, only `system`. */
  noDeveloper?: true
  /** The vendor accepts no `name` of a message. */
  noNames?: true
  /** Writes a content part in the vendor's form. */
  part?: (part: Part) => object
  /** Orders messages so that the vendor accepts their roles; `places` are the original indexes. */
  arrange?: (messages: Message[], places: readonly number[], warnings: Warning[]) => Message[]
  /** Members of earlier answers that the vendor accepts; all members when absent. */
  takesBack?: readonly (AnswerField | 'audio')[]
  /** The member of a part that marks the end of a cached prompt prefix. */
  partMark?: string
  /** The vendor accepts `cache_control`; otherwise the marks are removed, unless `takesBack` is absent. */
  takesCacheControl?: true
  /** The vendor rejects a returned tool call without `reasoning_content`. */
  wantsReasoning?: true
  /** The vendor does not fetch images, so images are sent as data URLs. */
  inlineImages?: true
  /** Models make pictures in chats; `image_config` is sent unchanged for models without a description. */
  takesImageConfig?: true

  // Answers.
  /** The member of a chunk whose `usage` may hold the token counts. */
  usageMember?: string
  /** Reads the vendor's own charge from `usage`, for chat and images. */
  readCost?: ReadCost
  /** The failure kind of the vendor's error codes; undefined if the status decides. */
  failureKind?: (complaint: Complaint) => FailureKind | undefined
  /** OpenAI's finish reasons by the vendor's finish reasons. */
  finishReasons?: Readonly<Record<string, string>>
}

/** `thinking` for vendors that switch thinking in a member of that name. */
export function thinkingSwitch(enabled: boolean): object {
  return { thinking: { type: enabled ? 'enabled' : 'disabled' } }
}

/** The dialect of endpoints whose differences from OpenAI are unknown. */
export const plainDialect: ChatDialect = { takesImageConfig: true }

/** An item of an answer's `data`, with vendor-specific members. */
export type ImageItem = Readonly<Record<string, unknown>>

/** How a vendor's images differ from those of OpenAI-compatible servers. */
export type ImageDialect = {
  /** Members of each request beyond OpenAI's fields; `response_format: b64_json` when absent. */
  more?: (call: ImageCall) => object
  /** The request members for the planned size; when absent, `size` in pixels. */
  shape?: (plan: ImagePlan) => object
  /** Path and members of edits as JSON; when absent, edits are a form to `/images/edits`. */
  edits?: { path: string; inputs: (sources: readonly ImageSource[]) => object }
  /** Whether an item is a placeholder for a picture that the vendor refused as unsafe. */
  isRefused?: (item: ImageItem) => boolean
  idempotencyHeader?: string
  /** The abilities of models that the catalog does not list. */
  unlisted?: DescribedImages
}

/** How a vendor's embeddings differ from those of OpenAI-compatible servers. */
export type EmbeddingDialect = {
  /** What the vendor's API has besides texts. */
  takes: EmbeddingAdapter['takes']
  /** Whether the vendor knows `encoding_format: base64`. */
  base64?: true
  dimensionsName?: string
  /** Most texts in one call for a model without a catalog row; a cautious number when absent. */
  inputsPerCall?: number
}

/** The embeddings of endpoints whose differences from OpenAI are unknown. */
export const plainEmbeddings: EmbeddingDialect = {
  takes: { tokens: true, dimensions: true, user: true },
}

/** Requests pictures as base64, since OpenAI-compatible servers return URLs by default. */
export const asBase64 = () => ({ response_format: 'b64_json' })

/** An endpoint with OpenAI's protocol, and its deviations from the protocol. */
export type OpenAiEndpoint = Endpoint & {
  dialect?: ChatDialect
  imageDialect?: ImageDialect
  /** How the endpoint's embeddings differ from OpenAI's; absent when it has none. */
  embeddingDialect?: EmbeddingDialect
}
