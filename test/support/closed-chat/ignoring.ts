import {
  without,
  functionTool,
  image,
  text,
  named,
  unnamed,
  result,
  isOn,
  isForced,
  stopsOf,
  typeOf,
  usual,
  words,
} from './forms.ts'
import type { Body, ClosedChat } from './schema.ts'

const platform = [
  ...words('audio function_call functions metadata modalities moderation prediction'),
  ...words('prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier'),
  ...words('service_tier store verbosity web_search_options'),
]
const platformBut = (...taken: string[]) => platform.filter((field) => !taken.includes(field))
const thinkingAnswer = ['role', 'content', 'name', 'reasoning_content', 'tool_calls']
const thinks = ({ thinking }: Body) => typeOf(thinking) !== 'disabled'

export const deepseek: ClosedChat = {
  ...usual,
  source: 'api-docs.deepseek.com/api/create-chat-completion; DeepSeek-V3#1376',
  ignoresUnknown: true,
  fields: without(
    ...platform,
    ...words('n seed logit_bias parallel_tool_calls user'),
    'max_completion_tokens',
  ),
  messages: { ...usual.messages, assistant: thinkingAnswer },
  efforts: () => ['low', 'high', 'max'],
  rules: [
    (body) =>
      thinks(body) && isForced(body)
        ? 'Thinking mode does not support this tool_choice'
        : undefined,
    (body) =>
      thinks(body) && ['temperature', 'presence_penalty'].some((name) => isOn(body[name]))
        ? 'Thinking mode does not support temperature'
        : undefined,
    ({ messages }) =>
      (messages as Body[]).some((one) => isOn(one['tool_calls']) && !one['reasoning_content'])
        ? 'Missing `reasoning_content` field in the assistant message'
        : undefined,
    ({ response_format: format }) =>
      typeOf(format) === 'json_schema' ? 'This response_format type is unavailable now' : undefined,
    ({ model, messages }) =>
      String(model).endsWith('-pro') && JSON.stringify(messages).includes('"image_url"')
        ? 'unknown variant `image_url`, expected `text`'
        : undefined,
  ],
}

export const alibaba: ClosedChat = {
  ...usual,
  source: 'dashscope SDK of 2026-07; agentscope#1608',
  ignoresUnknown: true,
  fields: without(...platform, ...words('frequency_penalty logit_bias user max_completion_tokens')),
  messages: {
    system: unnamed,
    user: unnamed,
    assistant: ['role', 'content', 'reasoning_content', 'tool_calls'],
    tool: result,
  },
  parts: { text: [...text, 'cache_control'], image_url: [...image, 'cache_control'] },
  tools: { function: [...functionTool, 'cache_control'] },
  efforts: (model) => (model.startsWith('qwen3.8') ? ['low', 'medium', 'xhigh'] : []),
  rules: [
    (body) =>
      String(body['model']).startsWith('qwen3.8') &&
      body['enable_thinking'] !== false &&
      isForced(body)
        ? 'The tool_choice parameter does not support being set to required or object in thinking mode'
        : undefined,
  ],
}

export const bytedance: ClosedChat = {
  ...usual,
  source: 'volcengine-go-sdk, arkruntime/model/chat_completion.go of 2026-08',
  ignoresUnknown: true,
  fields: without(...platformBut('service_tier'), 'n', 'seed', 'max_completion_tokens'),
  tools: { function: [...functionTool, 'function.parameters!'] },
  efforts: (model) => (model.startsWith('seed-2') ? ['minimal', 'low', 'medium', 'high'] : []),
  rules: [
    ({ service_tier: tier }) =>
      isOn(tier) && tier !== 'auto' && tier !== 'default' ? 'service_tier' : undefined,
  ],
}

export const xai: ClosedChat = {
  ...usual,
  source: 'docs.x.ai/docs/api-reference; cc-switch#7584',
  ignoresUnknown: true,
  fields: without(...platformBut('web_search_options'), 'logit_bias', 'max_completion_tokens'),
  messages: { ...usual.messages, developer: named },
  efforts: (model) =>
    model.startsWith('grok-4.3')
      ? ['none', 'low', 'medium', 'high']
      : model.startsWith('grok-4.5')
        ? ['low', 'medium', 'high']
        : ['low', 'medium', 'high', 'xhigh'],
  rules: [
    (body) => {
      const refused = ['presence_penalty', 'frequency_penalty', 'stop'].find((f) => isOn(body[f]))
      return refused === undefined ? undefined : `Argument not supported on this model: ${refused}`
    },
  ],
}

export const zai: ClosedChat = {
  ...usual,
  source: 'zai-sdk, types/chat; pydantic-ai, profiles/zai',
  ignoresUnknown: true,
  fields: without(
    ...platform,
    ...words('n seed presence_penalty frequency_penalty logit_bias user'),
    ...words('logprobs top_logprobs parallel_tool_calls max_completion_tokens'),
  ),
  messages: {
    system: unnamed,
    user: unnamed,
    assistant: ['role', 'content', 'reasoning_content', 'tool_calls'],
    tool: result,
  },
  choices: ['auto'],
  efforts: (model) =>
    model.startsWith('glm-5.3')
      ? ['low', 'high', 'max']
      : model.startsWith('glm-5.2')
        ? ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']
        : [],
  rules: [
    ({ model, thinking }) =>
      String(model).startsWith('glm-5.3') && typeOf(thinking) === 'disabled'
        ? 'please use low, high, or max'
        : undefined,
    (body) => (stopsOf(body) > 1 || typeof body['stop'] === 'string' ? 'stop' : undefined),
    ({ response_format: format }) => (typeOf(format) === 'json_schema' ? 'format' : undefined),
  ],
}

export const together: ClosedChat = {
  ...usual,
  source: 'together-ai 0.52.0, resources/chat/completions',
  ignoresUnknown: true,
  fields: without(
    ...platform,
    'parallel_tool_calls',
    'user',
    'top_logprobs',
    'max_completion_tokens',
  ),
  rules: [
    ({ logprobs }) => (isOn(logprobs) && typeof logprobs !== 'number' ? 'logprobs' : undefined),
    ({ stop }) => (isOn(stop) && !Array.isArray(stop) ? 'stop' : undefined),
  ],
}

const isKimi = ({ model }: Body) => String(model).startsWith('kimi-')

export const moonshot: ClosedChat = {
  ...usual,
  source: 'platform.moonshot.ai/docs/api/chat; models.dev#3331',
  ignoresUnknown: true,
  fields: without(
    ...platformBut('prompt_cache_key', 'safety_identifier'),
    ...words('logit_bias logprobs top_logprobs parallel_tool_calls seed user'),
    'max_tokens',
  ),
  messages: { ...usual.messages, assistant: thinkingAnswer },
  efforts: (model) =>
    model.startsWith('kimi-k3') ? ['low', 'high', 'max'] : isKimi({ model }) ? [] : undefined,
  rules: [
    (body) => {
      const fixed = ['temperature', 'top_p', 'n', 'presence_penalty', 'frequency_penalty']
      const refused = isKimi(body) ? fixed.find((name) => isOn(body[name])) : undefined
      return refused === undefined ? undefined : `invalid ${refused}: only 1 is allowed`
    },
    (body) =>
      isKimi(body) && thinks(body) && isForced(body)
        ? 'tool_choice is incompatible with thinking'
        : undefined,
    ({ model, thinking }) =>
      /^kimi-k(?:3|2\.7)/.test(String(model)) && typeOf(thinking) === 'disabled'
        ? 'thinking cannot be disabled'
        : undefined,
  ],
}

export const openrouter: ClosedChat = {
  ...usual,
  source: '@openrouter/sdk 1.3.19, ChatRequest and ChatMessages',
  ignoresUnknown: true,
  takesBothLimits: true,
  fields: without(
    ...words('function_call functions moderation n prompt_cache_retention safety_identifier store'),
  ),
  messages: {
    ...usual.messages,
    developer: named,
    assistant: [
      ...words('role content name audio images refusal reasoning reasoning_content tool_calls'),
      ...words('reasoning_details annotations parsed'),
    ],
  },
  parts: {
    text: [...text, 'cache_control', 'prompt_cache_breakpoint'],
    image_url: [...image, 'cache_control'],
    input_audio: ['type', 'input_audio', 'input_audio.data', 'input_audio.format'],
    file: ['type', 'file', 'file.file_data', 'file.file_id', 'file.filename', 'cache_control'],
    refusal: ['type', 'refusal'],
  },
  tools: { function: [...functionTool, 'cache_control'] },
}
