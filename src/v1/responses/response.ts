import type { components } from '../../../generated/types.ts'
import type { GatewayError } from '../../core/error.ts'
import { noUsage, type Usage } from '../../core/money/price.ts'
import type { Receipt } from '../../core/receipt.ts'
import { costFields } from '../../http/receipt-headers.ts'
import type { Ended } from './output.ts'
import type { ResponseRequest } from './request.ts'

type Schemas = components['schemas']
export type ModelResponse = Schemas['ModelResponse']

type Head = { id: string; createdAt: number; model: string; isStored: boolean }

/** A response that has no output yet, with the options of the request. */
export function beginResponse(
  body: ResponseRequest,
  { id, createdAt, model, isStored }: Head,
): ModelResponse {
  const { reasoning, text } = body
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: null,
    status: 'in_progress',
    background: body.background ?? false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    metadata: body.metadata ?? {},
    model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: body.service_tier ?? null,
    store: isStored,
    temperature: body.temperature ?? null,
    text: {
      format: text?.format ?? { type: 'text' },
      ...(text?.verbosity == null ? {} : { verbosity: text.verbosity }),
    },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? null,
    truncation: 'disabled',
    usage: null,
    user: body.user ?? null,
  }
}

type End = {
  ended: Ended
  completedAt: number
  usage: Usage
  receipt: Receipt
  /** The usage of the pictures that were made for the response; absent without such a tool. */
  imageUsage?: Usage | undefined
}

/** The response with its output; `incomplete` if the answer was cut off. */
export function endResponse(response: ModelResponse, end: End): ModelResponse {
  const { ended, usage, receipt, imageUsage } = end
  const reason = cutOffBy[ended.finishReason ?? '']
  return {
    ...response,
    completed_at: reason === undefined ? end.completedAt : null,
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    model: ended.model ?? response.model,
    output: ended.items,
    service_tier: ended.serviceTier ?? response.service_tier,
    ...toolUsage(imageUsage, usage),
    usage: usageForm(usage, receipt),
    ...(receipt.warnings.length > 0 ? { warnings: [...receipt.warnings] } : {}),
  }
}

const cutOffBy: Record<string, 'max_output_tokens' | 'content_filter' | undefined> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

/** All counts are present, since Codex cannot read the object without them. */
function usageForm(usage: Usage, { cost }: Receipt): Schemas['ResponseUsage'] {
  const { inputTokens, outputTokens } = usage
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedInputTokens ?? 0,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
    ...costFields(cost),
  }
}

/** OpenAI's type requires all members. */
function toolUsage(
  imageUsage: Usage | undefined,
  { webSearches = 0 }: Usage,
): Pick<ModelResponse, 'tool_usage'> {
  if (imageUsage === undefined && webSearches === 0) return {}
  const tool_usage = {
    image_gen: imageUsageForm(imageUsage ?? noUsage),
    web_search: { num_requests: webSearches },
  }
  return { tool_usage }
}

function imageUsageForm(usage: Usage): Schemas['ResponseImageUsage'] {
  const { inputTokens, outputTokens, imageInputTokens = 0, imageOutputTokens = 0 } = usage
  const split = (all: number, image: number) => ({ text_tokens: all - image, image_tokens: image })
  return {
    input_tokens: inputTokens,
    input_tokens_details: split(inputTokens, imageInputTokens),
    output_tokens: outputTokens,
    output_tokens_details: split(outputTokens, imageOutputTokens),
    total_tokens: inputTokens + outputTokens,
  }
}

/** The error in the words of OpenAI's streams, of which clients try `rate_limit_exceeded` and `server_error` again. */
export function failureForm({ code, status, message }: GatewayError): Schemas['ResponseFailure'] {
  if (code === 'context_length_exceeded' || code === 'insufficient_quota') return { code, message }
  if (status === 429) return { code: 'rate_limit_exceeded', message }
  return { code: status >= 500 ? 'server_error' : 'invalid_prompt', message }
}
