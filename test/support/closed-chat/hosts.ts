import { image, isOn, text, usual, without, words } from './forms.ts'
import { openAiFields, type ClosedChat } from './schema.ts'

const platform = [
  ...words('audio function_call functions metadata modalities moderation prediction'),
  ...words('prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier'),
  ...words('service_tier store verbosity web_search_options'),
]
const platformBut = (...taken: string[]) => platform.filter((field) => !taken.includes(field))
const isPriority = (tier: unknown) =>
  isOn(tier) && tier !== 'priority' ? 'service_tier' : undefined

/** Request schemas of hosts of other makers' models. */
export const fireworks: ClosedChat = {
  ...usual,
  source: 'docs.fireworks.ai/api-reference/post-chatcompletions',
  fields: [
    ...without(
      ...platformBut('metadata', 'prediction', 'prompt_cache_key', 'service_tier'),
      'max_completion_tokens',
    ),
    ...words('context_length_exceeded_behavior echo ignore_eos min_p mirostat_lr mirostat_target'),
    ...words('perf_metrics_in_response prompt_truncate_len reasoning_history repetition_penalty'),
    ...words('thinking top_k typical_p'),
  ],
  messages: {
    ...usual.messages,
    assistant: [...usual.messages.assistant, 'reasoning_content'],
  },
  rules: [({ service_tier: tier }) => isPriority(tier)],
}

export const deepinfra: ClosedChat = {
  ...usual,
  source: 'docs.deepinfra.com/api-reference/openai-chat-completions-1',
  ignoresUnknown: true,
  fields: without(
    ...platformBut('prompt_cache_key', 'service_tier'),
    ...words('logit_bias max_completion_tokens parallel_tool_calls top_logprobs'),
  ),
  rules: [({ service_tier: tier }) => isPriority(tier)],
}

export const nvidia: ClosedChat = {
  ...usual,
  source: 'docs.nvidia.com/nim/large-language-models; vLLM, protocol.py',
  ignoresUnknown: true,
  fields: without(...platform, 'max_completion_tokens'),
}

export const cloudflare: ClosedChat = {
  ...usual,
  source: 'developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility',
  ignoresUnknown: true,
  fields: without(...platform, 'max_completion_tokens'),
}

export const bedrock: ClosedChat = {
  ...usual,
  source: 'docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions',
  ignoresUnknown: true,
  fields: without(...platformBut('service_tier'), 'max_tokens'),
}

export const perplexity: ClosedChat = {
  ...usual,
  source: 'docs.perplexity.ai/api-reference/chat-completions-post',
  ignoresUnknown: true,
  fields: openAiFields.filter((field) =>
    words(
      'frequency_penalty max_tokens messages model presence_penalty reasoning_effort ' +
        'response_format stream temperature top_p web_search_options',
    ).includes(field),
  ),
  parts: { text, image_url: image },
  tools: {},
}
