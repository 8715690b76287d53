import type { Vendor } from '../vendor.ts'
import { platformFieldsExcept, type ChatDialect } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import { costOf } from '../wire/reported-cost.ts'

/** What the hosts below have in common: their servers are forks and relatives of vLLM. */
const usual: ChatDialect = { limit: 'max_tokens', noDeveloper: true, takesBack: [] }

/** Fireworks refuses all others. */
const fireworksFields =
  'context_length_exceeded_behavior echo frequency_penalty ignore_eos logit_bias logprobs ' +
  'max_tokens messages metadata min_p mirostat_lr mirostat_target model n parallel_tool_calls ' +
  'perf_metrics_in_response prediction presence_penalty prompt_cache_key prompt_truncate_len ' +
  'reasoning_effort reasoning_history repetition_penalty response_format seed service_tier stop ' +
  'stream stream_options temperature thinking tool_choice tools top_k top_logprobs top_p ' +
  'typical_p user'

/**
 * Hosts of other makers' models, with OpenAI's protocol, any model name and no adapters of their own
 * (docs/vendors.md#openai-compatible-endpoints).
 */
export const hosts: readonly Vendor[] = [
  protocolVendor({
    id: 'fireworks',
    name: 'Fireworks',
    keyPrefixes: ['fw_'],
    anyModel: true,
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    namePrefixes: ['fireworks_ai', 'fireworks-ai'],
    dialect: {
      ...usual,
      only: new Set(fireworksFields.split(' ')),
      values: { service_tier: ['priority'] },
      takesBack: ['reasoning_content'],
    },
    embeddingDialect: { takes: { dimensions: true } },
  }),
  protocolVendor({
    id: 'deepinfra',
    name: 'DeepInfra',
    keyVariables: ['DEEPINFRA_API_KEY', 'DEEPINFRA_TOKEN'],
    anyModel: true,
    baseUrl: 'https://api.deepinfra.com/v1/openai',
    dialect: {
      ...usual,
      without: [
        'logit_bias',
        'parallel_tool_calls',
        'top_logprobs',
        ...platformFieldsExcept('prompt_cache_key', 'service_tier'),
      ],
      values: { service_tier: ['priority'] },
      readCost: ({ estimated_cost: cost }: { estimated_cost?: unknown }) => costOf(cost),
    },
    embeddingDialect: { takes: { dimensions: true } },
  }),
  protocolVendor({
    id: 'nvidia',
    name: 'NVIDIA NIM',
    keyVariables: ['NVIDIA_API_KEY', 'NVIDIA_NIM_API_KEY'],
    keyPrefixes: ['nvapi-'],
    anyModel: true,
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    namePrefixes: ['nvidia_nim'],
    dialect: { ...usual, without: platformFieldsExcept() },
  }),
  protocolVendor({
    id: 'cloudflare',
    name: 'Cloudflare Workers AI',
    keyVariables: ['CLOUDFLARE_API_TOKEN', 'CLOUDFLARE_API_KEY'],
    anyModel: true,
    baseUrl: 'https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai',
    chatPath: '/v1',
    modelsPath: '/models/search?per_page=1000',
    modelNames: ({ result }: { result?: { name?: unknown }[] }) =>
      (result ?? []).map(({ name }) => name),
    namePrefixes: ['workers-ai'],
    dialect: { ...usual, without: platformFieldsExcept() },
    embeddingDialect: { takes: {} },
  }),
  protocolVendor({
    id: 'bedrock',
    name: 'AWS Bedrock',
    traceName: 'aws.bedrock',
    keyVariables: ['AWS_BEARER_TOKEN_BEDROCK', 'BEDROCK_API_KEY'],
    anyModel: true,
    baseUrl: 'https://bedrock-runtime.{AWS_REGION}.amazonaws.com/openai/v1',
    dialect: {
      ...usual,
      without: platformFieldsExcept('service_tier'),
      limit: 'max_completion_tokens',
    },
  }),
]
