import {
  without,
  functionCall,
  functionTool,
  image,
  text,
  named,
  unnamed,
  result,
  strings,
  isOn,
  typeOf,
  usual,
  words,
} from './forms.ts'
import { openAiFields, type Body, type ClosedChat } from './schema.ts'

/** Request schemas of vendors that refuse unknown members. */
export const openai: ClosedChat = {
  source: 'openai 7.55.0, resources/chat/completions; smolagents#1671',
  fields: openAiFields,
  messages: {
    system: named,
    developer: named,
    user: named,
    assistant: ['role', 'content', 'name', 'refusal', 'tool_calls', 'function_call', 'audio'],
    tool: result,
    function: named,
  },
  parts: {
    text: [...text, 'prompt_cache_breakpoint'],
    image_url: [...image, 'prompt_cache_breakpoint'],
    input_audio: ['type', 'input_audio', 'input_audio.data', 'input_audio.format'],
    file: ['type', 'file', 'file.file_data', 'file.file_id', 'file.filename'],
    refusal: ['type', 'refusal'],
  },
  calls: { ...functionCall, custom: ['id', 'type', 'custom', 'custom.name', 'custom.input'] },
  tools: { function: functionTool, custom: ['type', 'custom'] },
  choices: [...strings, 'function', 'custom', 'allowed_tools'],
  efforts: (model) => {
    const generation = Number(/^gpt-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? 0)
    if (/^o\d/.test(model)) return ['low', 'medium', 'high']
    if (/^gpt-5\.\d-pro/.test(model)) return ['medium', 'high', 'xhigh']
    if (/-codex/.test(model)) return ['low', 'medium', 'high', 'xhigh']
    if (generation >= 6) {
      const least = /^gpt-6(?:-sol|-luna|\.1-terra)/.test(model) ? ['none'] : []
      return [...least, 'low', 'medium', 'high', 'xhigh', 'max']
    }
    if (generation === 5) return ['minimal', 'low', 'medium', 'high']
    if (generation === 5.1) return ['none', 'low', 'medium', 'high']
    return generation > 5 ? ['none', 'low', 'medium', 'high', 'xhigh'] : []
  },
  rules: [
    ({ model }) =>
      /-pro|-codex/.test(String(model))
        ? 'This model is only supported in v1/responses and not in v1/chat/completions.'
        : undefined,
    ({ model, ...body }) => {
      if (!/^(?:o\d|gpt-[5-9])/.test(String(model))) return undefined
      if (isOn(body['max_tokens'])) return "Use 'max_completion_tokens' instead."
      if (isOn(body['stop'])) return "Unsupported parameter: 'stop' is not supported."
      const sampling = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'logprobs']
      const refused = sampling.find((name) => isOn(body[name]))
      if (refused === undefined || body['reasoning_effort'] === 'none') return undefined
      return `Unsupported value: '${refused}'.`
    },
    ({ model, tools, reasoning_effort: effort }) => {
      const generation = Number(/^gpt-(\d+(?:\.\d+)?)/.exec(String(model))?.[1] ?? 0)
      if (tools === undefined || generation < 5.4 || effort === 'none') return undefined
      if (generation < 5.6 && !isOn(effort)) return undefined
      return `Function tools with reasoning_effort are not supported for ${String(model)}.`
    },
    ({ modalities }) => {
      return Array.isArray(modalities) && modalities.includes('audio')
        ? 'This model does not support audio output.'
        : undefined
    },
  ],
}

export const mistral: ClosedChat = {
  ...usual,
  source: "Mistral's openapi.yaml of 2026-08-21, additionalProperties: false",
  fields: [
    ...without(
      ...words('audio function_call functions logit_bias logprobs top_logprobs'),
      ...words('max_completion_tokens modalities moderation prompt_cache_options'),
      ...words('prompt_cache_retention safety_identifier seed service_tier store'),
      ...words('stream_options user verbosity web_search_options'),
    ),
    ...words('random_seed safe_prompt prompt_mode guardrails'),
  ],
  messages: {
    system: unnamed,
    user: unnamed,
    assistant: ['role', 'content', 'tool_calls', 'prefix'],
    tool: [...result, 'name'],
  },
  parts: {
    text,
    image_url: image,
    input_audio: ['type', 'input_audio', 'input_audio.'],
    file: ['type', 'file_id'],
    document_url: ['type', 'document_url', 'document_name'],
  },
  tools: { function: [...functionTool, 'function.parameters!'] },
  choices: ['none', 'auto', 'any', 'required', 'function'],
  efforts: () => ['none', 'high'],
  rules: [
    ({ response_format: format }) =>
      typeOf(format) === 'json_schema' &&
      !isOn(((format as Body)['json_schema'] as Body | undefined)?.['schema'])
        ? 'response_format.json_schema.schema: Field required'
        : undefined,
    ({ messages }) =>
      (messages as Body[])
        .flatMap((message) => (message['tool_calls'] ?? []) as Body[])
        .some(({ id }) => !/^[a-zA-Z0-9]{9}$/.test(String(id)))
        ? 'Tool call id has to be defined in a-z, A-Z, 0-9, with a length of 9.'
        : undefined,
    ({ messages }) => mistralOrder(messages as Body[]),
  ],
}

/** Roles that may follow each role (mistral-common, protocol/instruct/validator.py). */
const mistralFollowers: Readonly<Record<string, readonly string[]>> = {
  system: ['user', 'assistant', 'system'],
  user: ['assistant', 'system', 'user'],
  assistant: ['assistant', 'user', 'tool'],
  tool: ['assistant', 'tool'],
}

function mistralOrder(messages: readonly Body[]): string | undefined {
  const roles = messages.map(({ role }) => String(role))
  const at = roles.findIndex(
    (role, index) => index > 0 && !mistralFollowers[roles[index - 1]!]!.includes(role),
  )
  if (at > 0) return `Unexpected role '${roles[at]}' after role '${roles[at - 1]}'`
  const last = messages.at(-1)!
  return last['role'] === 'assistant' && last['prefix'] !== true
    ? 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
    : undefined
}

export const groq: ClosedChat = {
  ...usual,
  source: 'groq-sdk 1.6.0; console.groq.com/docs/openai; cherry-studio#11435',
  fields: [
    ...without(
      ...words('audio function_call functions logit_bias logprobs top_logprobs n'),
      ...words('metadata modalities moderation prediction prompt_cache_key store'),
      ...words('prompt_cache_options prompt_cache_retention safety_identifier verbosity'),
      'web_search_options',
    ),
    ...words('citation_options compound_custom disable_tool_validation documents'),
    ...words('exclude_domains include_domains include_reasoning reasoning_format'),
    'search_settings',
  ],
  messages: {
    system: unnamed,
    developer: unnamed,
    user: unnamed,
    assistant: ['role', 'content', 'reasoning', 'tool_calls'],
    tool: result,
  },
  efforts: (model) => (model.startsWith('qwen/') ? ['none', 'default'] : ['low', 'medium', 'high']),
  rules: [
    ({ service_tier: tier }) =>
      isOn(tier) && !words('auto on_demand flex performance').includes(tier as string)
        ? 'service_tier is not available'
        : undefined,
  ],
}

export const cerebras: ClosedChat = {
  ...usual,
  source: 'inference-docs.cerebras.ai/api-reference/chat-completions',
  fields: [
    ...words('clear_thinking disable_reasoning logprobs max_completion_tokens messages'),
    ...words('model prediction reasoning_effort reasoning_format response_format seed'),
    ...words('stop stream stream_options temperature tool_choice tools top_logprobs'),
    ...words('top_p user'),
  ],
  efforts: () => ['low', 'medium', 'high'],
  rules: [({ temperature }) => (Number(temperature ?? 1) > 1.5 ? 'temperature' : undefined)],
}
