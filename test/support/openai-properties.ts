import type OpenAI from 'openai'
import { pdf } from './chat-wire.ts'
import { pixel } from './pixel.ts'

/** Source of the property names. The compiler checks the names against the types of this package. */
export const source = { package: 'openai', version: '7.55.0', date: '2026-11-22' }

type Members = Record<string, unknown>
/** A request with the property, and the same request without it. */
export type Probe = { with: Members; without?: Members }

type Chat = OpenAI.ChatCompletionCreateParamsNonStreaming
type Parts = OpenAI.ChatCompletionContentPart
// Properties that the gateway itself uses, for every vendor.
type Ours = 'messages' | 'model' | 'stream' | 'stream_options'

const weather = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }
const clock = { type: 'function', function: { name: 'clock', parameters: { type: 'object' } } }
const shell = { type: 'custom', custom: { name: 'shell' } }
const tools = [weather]
const beside = (given: Members, members: Members): Probe => ({
  with: { ...given, ...members },
  without: given,
})

/** Properties of CreateChatCompletionRequest, each with a value other than its default. */
export const chatProperties: Readonly<Record<Exclude<keyof Chat, Ours>, Probe>> = {
  audio: { with: { audio: { voice: 'alloy', format: 'wav' } } },
  frequency_penalty: { with: { frequency_penalty: 0.5 } },
  function_call: beside({ functions: [weather.function] }, { function_call: { name: 'weather' } }),
  functions: { with: { functions: [weather.function] } },
  logit_bias: { with: { logit_bias: { 50256: -100 } } },
  logprobs: { with: { logprobs: true } },
  max_completion_tokens: { with: { max_completion_tokens: 1234 } },
  max_tokens: { with: { max_tokens: 1234 } },
  metadata: { with: { metadata: { a: 'b' } } },
  modalities: { with: { modalities: ['text', 'audio'] } },
  moderation: { with: { moderation: { mode: 'auto' } } },
  n: { with: { n: 2 } },
  parallel_tool_calls: beside({ tools }, { parallel_tool_calls: false }),
  prediction: { with: { prediction: { type: 'content', content: 'Hi' } } },
  presence_penalty: { with: { presence_penalty: 0.5 } },
  prompt_cache_key: { with: { prompt_cache_key: 'k-1' } },
  prompt_cache_options: { with: { prompt_cache_options: { ttl: '1h' } } },
  prompt_cache_retention: { with: { prompt_cache_retention: '24h' } },
  reasoning_effort: { with: { reasoning_effort: 'high' } },
  response_format: { with: { response_format: { type: 'json_object' } } },
  safety_identifier: { with: { safety_identifier: 's-1' } },
  seed: { with: { seed: 4711 } },
  service_tier: { with: { service_tier: 'flex' } },
  stop: { with: { stop: 'END' } },
  store: { with: { store: true } },
  temperature: { with: { temperature: 0.3 } },
  tool_choice: beside({ tools }, { tool_choice: 'required' }),
  tools: { with: { tools } },
  top_logprobs: beside({ logprobs: true }, { top_logprobs: 2 }),
  top_p: { with: { top_p: 0.7 } },
  user: { with: { user: 'ada-1' } },
  verbosity: { with: { verbosity: 'low' } },
  web_search_options: { with: { web_search_options: { search_context_size: 'low' } } },
}

const user = { role: 'user', content: 'Hello' }
/** A valid conversation: adds a final user message, unless the last message is a tool result. */
const messages = (...given: Members[]): Members => {
  const answers = ['tool', 'function'].includes(String(given.at(-1)?.['role']))
  return { messages: answers ? given : [...given, user] }
}
const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }
const customCall = { id: 'call_1', type: 'custom', custom: { name: 'shell', input: 'ls' } }
const result = { role: 'tool', tool_call_id: 'call_1', content: 'Warm.' }
const hi = { role: 'assistant', content: 'Hi.' }
/** A message with a member, and the same message without it. */
const member = (message: Members, more: Members, ...following: Members[]): Probe => ({
  with: messages({ ...message, ...more }, ...following),
  without: messages(message, ...following),
})

type Role<Param> = Exclude<keyof Param, 'role' | 'content'>
/** Message roles, and the members of messages of each role, other than the content. */
export const messageProperties: Readonly<
  Record<
    | OpenAI.ChatCompletionMessageParam['role']
    | `user.${Role<OpenAI.ChatCompletionUserMessageParam>}`
    | `system.${Role<OpenAI.ChatCompletionSystemMessageParam>}`
    | `assistant.${Role<OpenAI.ChatCompletionAssistantMessageParam>}`,
    Probe
  >
> = {
  system: { with: messages({ role: 'system', content: 'Be kind.' }) },
  'system.name': member({ role: 'system', content: 'Be kind.' }, { name: 'house' }),
  developer: { with: messages({ role: 'developer', content: 'Be kind.' }) },
  user: { with: messages({ role: 'user', content: 'Good day.' }, hi) },
  'user.name': member(user, { name: 'ada' }, hi),
  assistant: { with: messages(user, hi) },
  'assistant.name': member(hi, { name: 'bob' }),
  'assistant.refusal': {
    with: messages(user, { role: 'assistant', content: null, refusal: 'No.' }),
    without: messages(user),
  },
  'assistant.audio': member(hi, { audio: { id: 'audio_1' } }),
  'assistant.tool_calls': {
    with: { ...messages(user, { role: 'assistant', tool_calls: [call] }, result), tools },
    without: { ...messages(user), tools },
  },
  'assistant.function_call': {
    with: messages(
      user,
      { role: 'assistant', content: null, function_call: call.function },
      { role: 'function', name: 'weather', content: 'Warm.' },
    ),
    without: messages(user),
  },
  tool: {
    with: { ...messages(user, { role: 'assistant', tool_calls: [call] }, result), tools },
    without: { ...messages(user), tools },
  },
  function: {
    with: messages(
      user,
      { role: 'assistant', content: null, function_call: call.function },
      { role: 'function', name: 'weather', content: 'Warm.' },
    ),
    without: messages(user),
  },
}

const shown = (part: Members): Probe => {
  const text = { type: 'text', text: 'What is it?' }
  return {
    with: { messages: [{ role: 'user', content: [text, part] }] },
    without: { messages: [{ role: 'user', content: [text] }] },
  }
}

/** Content parts of a user message, and an assistant's own parts. */
export const partProperties: Readonly<
  Record<Parts['type'] | 'refusal' | 'image_url.detail', Probe>
> = {
  text: shown({ type: 'text', text: 'Say it.' }),
  image_url: shown({ type: 'image_url', image_url: { url: pixel } }),
  'image_url.detail': {
    with: shown({ type: 'image_url', image_url: { url: pixel, detail: 'high' } }).with,
    without: shown({ type: 'image_url', image_url: { url: pixel } }).with,
  },
  input_audio: shown({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
  file: shown({ type: 'file', file: { filename: 'a.pdf', file_data: pdf } }),
  refusal: {
    with: messages(user, { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }] }),
    without: messages(user),
  },
}

type Kinds = OpenAI.ChatCompletionTool['type']
type Named = Exclude<OpenAI.ChatCompletionToolChoiceOption, string>['type']
const custom = { type: 'custom', custom: { name: 'shell' } }
const allowed = {
  type: 'allowed_tools',
  allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'weather' } }] },
}

/** Kinds of tools, tool calls and tool choices. */
export const toolProperties: Readonly<
  Record<
    `tools: ${Kinds}` | `tool_choice: ${Named}` | `tool_calls: ${Kinds}` | 'function.strict',
    Probe
  >
> = {
  'tools: function': { with: { tools } },
  'function.strict': {
    with: { tools: [{ ...weather, function: { ...weather.function, strict: true } }] },
    without: { tools },
  },
  'tools: custom': { with: { tools: [shell] } },
  'tool_choice: function': beside(
    { tools },
    { tool_choice: { type: 'function', function: { name: 'weather' } } },
  ),
  'tool_choice: custom': beside({ tools: [shell] }, { tool_choice: custom }),
  'tool_choice: allowed_tools': beside({ tools: [weather, clock] }, { tool_choice: allowed }),
  'tool_calls: function': messageProperties['assistant.tool_calls'],
  'tool_calls: custom': {
    with: messages(user, { role: 'assistant', tool_calls: [customCall] }, result),
    without: messages(user),
  },
}
