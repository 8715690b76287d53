import type { ChatRequest } from '../../core/chat/chat.ts'
import type { Target } from '../../core/model.ts'
import type { Turn } from '../../core/turn.ts'
import { abilitiesOf, writeChat } from '../openai-compatible/chat-request.ts'
import {
  commonFields,
  platformFieldsExcept,
  type ChatDialect,
} from '../openai-compatible/dialect.ts'
import { moderationAdapter } from '../openai-compatible/moderation.ts'
import { isThinking } from '../openai-compatible/thinking.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import type { Vendor } from '../vendor.ts'
import { pictureUrl } from '../wire/long-text.ts'
import { nativeFirst } from '../wire/native-stream.ts'
import { families } from './families.ts'
import { responsesAdapter } from './responses/chat.ts'
import { writeResponses } from './responses/request.ts'
import { searchesFor } from './responses/search.ts'

const dialect: ChatDialect = {
  idempotencyHeader: 'idempotency-key',
  only: new Set([
    ...commonFields,
    ...platformFieldsExcept(),
    'frequency_penalty',
    'function_call',
    'functions',
    'logit_bias',
    'logprobs',
    'max_completion_tokens',
    'max_tokens',
    'n',
    'parallel_tool_calls',
    'presence_penalty',
    'seed',
    'stream_options',
    'top_logprobs',
    'user',
  ]),
  // For models outside the catalog; OpenAI refuses both names together.
  limit: 'max_completion_tokens',
  customTools: true,
  callIds: { pattern: /^.{1,40}$/s, length: 40 },
  families,
  partMark: 'prompt_cache_breakpoint',
  takesBack: ['refusal', 'audio'],
}

const common = {
  thoughtsShown: 'never',
  dialect,
  embeddingDialect: {
    takes: { tokens: true, dimensions: true, user: true },
    base64: true,
    inputsPerCall: 2048,
  },
} as const

const overOwnApis = withResponses(
  protocolVendor({
    ...common,
    id: 'openai',
    name: 'OpenAI',
    keyPrefixes: ['sk-'],
    baseUrl: 'https://api.openai.com/v1',
    imageDialect: {
      idempotencyHeader: 'idempotency-key',
      more: () => ({}),
      edits: {
        path: '/images/edits',
        inputs: (sources) => ({ images: sources.map((one) => ({ image_url: pictureUrl(one) })) }),
      },
    },
  }),
)

/** OpenAI itself (docs/vendors.md#openai). */
export const openai: Vendor = {
  ...overOwnApis,
  // The CSV of the dashboard has the flattened names of the costs API.
  costForms: [
    { day: 'start_time', item: 'line_item', amount: 'amount_value', currency: 'amount_currency' },
  ],
  build: (endpoint) => ({
    ...overOwnApis.build(endpoint),
    moderation: moderationAdapter(endpoint),
  }),
}

/** OpenAI's models at Microsoft, where the name of a model is that of its deployment (docs/vendors.md#azure). */
export const azure = withResponses(
  protocolVendor({
    ...common,
    id: 'azure',
    modelsOf: 'openai',
    name: 'Azure OpenAI',
    traceName: 'azure.ai.openai',
    keyVariables: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
    keyHeader: 'api-key',
    anyModel: true,
    baseUrlVariable: 'AZURE_OPENAI_BASE_URL',
    baseUrl: 'https://{AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1',
    // The list has the models that could be deployed, not the deployments.
    modelNames: () => [],
    namePrefixes: ['azure_ai'],
    imageDialect: { more: () => ({}) },
  }),
)

/** Uses the Responses API for the calls with tools that need it, and for callers of this API. */
function withResponses(overChat: Vendor): Vendor {
  return {
    ...overChat,
    nativeApi: 'responses',
    writeChat: writeOwn,
    build: (endpoint) => {
      const provider = overChat.build(endpoint)
      const responses = responsesAdapter(endpoint)
      const { chat = responses } = provider
      return {
        ...provider,
        chat: {
          prepare: (request, target, native) => {
            const adapter = needsResponses(request, target) ? responses : chat
            const translated = {
              ...adapter.prepare(request, target),
              countInput: (turn: Turn) => responses.prepare(request, target).countInput(turn),
            }
            const isNative = native?.api === 'responses' && translated.problems.length === 0
            if (!isNative || !isForResponses(target)) return translated
            const asItCame = responses.asItCame(native, request, target)
            const { isTranslatable, only } = native
            return nativeFirst(asItCame, translated, isTranslatable && only === undefined)
          },
        },
      }
    },
  }
}

function writeOwn(request: ChatRequest, target: Target) {
  return needsResponses(request, target)
    ? writeResponses(request, target)
    : writeChat(request, target, dialect)
}

/** Whether OpenAI made the model for the Responses API: the chat API cannot do all that the model does. */
function isForResponses(target: Target): boolean {
  const abilities = abilitiesOf(target, dialect)
  return abilities?.responses_only === true || abilities?.tools_while_thinking !== undefined
}

/** Whether the chat API lacks the model or the search, or would refuse the tools since the model thinks. */
function needsResponses(request: ChatRequest, target: Target): boolean {
  const abilities = abilitiesOf(target, dialect)
  if (abilities?.responses_only || searchesFor(request, target)) return true
  if (abilities?.tools_while_thinking !== 'none' || !request.tools?.length) return false
  // A request for several answers can only be served without thinking.
  if ((request.n ?? 1) > 1) return abilities.thinks === 'always'
  return isThinking(request.reasoning_effort ?? undefined, abilities)
}
