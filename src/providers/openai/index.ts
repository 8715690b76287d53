import type { ChatRequest } from '../../core/chat/chat.ts'
import type { Target } from '../../core/model.ts'
import { abilitiesOf } from '../openai-compatible/chat-request.ts'
import type { ChatDialect } from '../openai-compatible/dialect.ts'
import { moderationAdapter } from '../openai-compatible/moderation.ts'
import { isThinking } from '../openai-compatible/thinking.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import type { Vendor } from '../vendor.ts'
import { pictureUrl } from '../wire/long-text.ts'
import { nativeFirst } from '../wire/native-stream.ts'
import { families } from './families.ts'
import { responsesAdapter } from './responses/chat.ts'
import { writeResponses } from './responses/request.ts'

const dialect: ChatDialect = {
  idempotencyHeader: 'idempotency-key',
  only: new Set([
    'audio',
    'frequency_penalty',
    'function_call',
    'functions',
    'logit_bias',
    'logprobs',
    'max_completion_tokens',
    'max_tokens',
    'messages',
    'metadata',
    'modalities',
    'model',
    'moderation',
    'n',
    'parallel_tool_calls',
    'prediction',
    'presence_penalty',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'reasoning_effort',
    'response_format',
    'safety_identifier',
    'seed',
    'service_tier',
    'stop',
    'store',
    'stream',
    'stream_options',
    'temperature',
    'tool_choice',
    'tools',
    'top_logprobs',
    'top_p',
    'user',
    'verbosity',
    'web_search_options',
  ]),
  customTools: true,
  callIds: { pattern: /^.{1,40}$/s, length: 40 },
  families,
  partMark: 'prompt_cache_breakpoint',
  takesBack: ['refusal', 'audio'],
}

const overChat = protocolVendor({
  id: 'openai',
  name: 'OpenAI',
  keyPrefixes: ['sk-'],
  baseUrl: 'https://api.openai.com/v1',
  thoughtsShown: 'never',
  dialect,
  embeddingDialect: {
    takes: { tokens: true, dimensions: true, user: true },
    base64: true,
    inputsPerCall: 2048,
  },
  imageDialect: {
    idempotencyHeader: 'idempotency-key',
    more: () => ({}),
    edits: {
      path: '/images/edits',
      inputs: (sources) => ({ images: sources.map((one) => ({ image_url: pictureUrl(one) })) }),
    },
  },
})

/** OpenAI itself (docs/vendors.md#openai); some calls with tools use its Responses API. */
export const openai: Vendor = {
  ...overChat,
  nativeApi: 'responses',
  writeChat: (request, target) =>
    (needsResponses(request, target) ? writeResponses : overChat.writeChat)(request, target),
  build: (endpoint) => {
    const provider = overChat.build(endpoint)
    const responses = responsesAdapter(endpoint)
    const { chat = responses } = provider
    return {
      ...provider,
      moderation: moderationAdapter(endpoint),
      chat: {
        prepare: (request, target, native) => {
          const adapter = needsResponses(request, target) ? responses : chat
          const translated = adapter.prepare(request, target)
          const isNative = native?.api === 'responses' && translated.problems.length === 0
          if (!isNative || !isForResponses(target)) return translated
          const asItCame = responses.asItCame(native, request, target)
          return nativeFirst(asItCame, translated, native.isTranslatable)
        },
      },
    }
  },
}

/** Whether OpenAI made the model for the Responses API: the chat API cannot do all that the model does. */
function isForResponses(target: Target): boolean {
  const abilities = abilitiesOf(target, dialect)
  return abilities?.responses_only === true || abilities?.tools_while_thinking !== undefined
}

/** Whether the chat API lacks the model, or would refuse the tools of the request since the model thinks. */
function needsResponses(request: ChatRequest, target: Target): boolean {
  const abilities = abilitiesOf(target, dialect)
  if (abilities?.responses_only) return true
  if (abilities?.tools_while_thinking !== 'none' || !request.tools?.length) return false
  // A request for several answers can only be served without thinking.
  if ((request.n ?? 1) > 1) return abilities.thinks === 'always'
  return isThinking(request.reasoning_effort ?? undefined, abilities)
}
