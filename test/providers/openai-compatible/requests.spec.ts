import { expect } from 'chai'
import type { ChatRequest } from '../../../src/core/chat/chat.ts'
import { writeChat } from '../../../src/providers/openai-compatible/chat-request.ts'
import { plainDialect } from '../../../src/providers/openai-compatible/dialect.ts'
import { callIdFor } from '../../../src/providers/wire/ids.ts'
import { describeWire, hello, type WireRow } from '../../support/chat-wire.ts'
import { modelOf } from '../../support/route.ts'

const tool = {
  type: 'function' as const,
  function: { name: 'look', parameters: { type: 'object' } },
}
const schema = { type: 'object', properties: {} }
const asked = { type: 'json_schema' as const, json_schema: { name: 'it', schema } }

/** An answer of a reasoning model, as OpenAI's client sends it back. */
const calling = {
  role: 'assistant',
  content: 'Wait.',
  refusal: null,
  annotations: [],
  reasoning_content: 'I have to look.',
  parsed: null,
  tool_calls: [
    {
      id: 'a',
      type: 'function',
      function: { name: 'look', arguments: '{}', parsed_arguments: null },
      extra_content: { google: { thought_signature: 'x' } },
    },
  ],
} as const
const refusing = [
  { role: 'assistant', content: null, refusal: 'No.' },
  { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }] },
] as const
const later = [
  ...hello,
  calling,
  { role: 'tool', tool_call_id: 'a', content: 'Nothing.' },
  ...refusing,
] as unknown as ChatRequest['messages']
const plain = {
  'messages.1.content': 'Wait.',
  'messages.1.refusal': undefined,
  'messages.1.annotations': undefined,
  'messages.1.parsed': undefined,
  'messages.1.tool_calls.0.function.arguments': '{}',
  'messages.1.tool_calls.0.function.parsed_arguments': undefined,
  'messages.1.tool_calls.0.extra_content': undefined,
  'messages.3.content': 'No.',
  'messages.3.refusal': undefined,
  'messages.4.content.0.text': 'Never.',
}

const rows: WireRow[] = [
  {
    name: 'uses the token limit’s name of reasoning models',
    model: 'gpt-5.2',
    request: { max_tokens: 50 },
    wire: { max_completion_tokens: 50, max_tokens: undefined },
  },
  {
    name: 'omits fields that reasoning models reject',
    model: 'gpt-5.2',
    request: { temperature: 0.3, top_p: 1, logprobs: true, presence_penalty: 0 },
    wire: { temperature: undefined, top_p: undefined, logprobs: undefined },
    warned: ['temperature', 'logprobs'],
  },
  {
    name: 'keeps them if reasoning is switched off',
    model: 'gpt-5.2',
    request: { temperature: 0.3, reasoning_effort: 'none' },
    wire: { temperature: 0.3 },
  },
  {
    name: 'omits the effort for models without reasoning',
    model: 'gpt-4.1',
    request: { reasoning_effort: 'high' },
    wire: { reasoning_effort: undefined },
    warned: ['reasoning_effort'],
  },
  {
    name: 'passes platform fields to OpenAI',
    model: 'gpt-4.1',
    request: { store: true, verbosity: 'low' },
    wire: { store: true, verbosity: 'low' },
  },
  {
    name: 'always requests the token counts of a stream',
    model: 'gpt-4.1',
    request: { stream: true },
    wire: { 'stream_options.include_usage': true },
  },
  {
    name: 'warns that a language model has no image_config',
    model: 'gpt-4.1',
    request: { image_config: { n: 1 } },
    wire: { image_config: undefined },
    warned: ['image_config'],
  },
  {
    name: 'translates fields for Mistral',
    model: 'mistral/mistral-large-latest',
    request: {
      seed: 5,
      temperature: 2,
      tool_choice: 'required',
      tools: [tool],
      stream: true,
      messages: [{ role: 'developer', content: 'Be kind.' }, ...hello],
    },
    wire: {
      random_seed: 5,
      seed: undefined,
      temperature: 1.5,
      tool_choice: 'any',
      stream_options: undefined,
      'messages.0.role': 'system',
    },
    warned: ['temperature'],
  },
  {
    name: 'puts a schema into the prompt for DeepSeek',
    model: 'deepseek/deepseek-v4-pro',
    request: { response_format: asked, reasoning_effort: 'high' },
    wire: {
      'response_format.type': 'json_object',
      'messages.0.role': 'system',
      'thinking.type': 'enabled',
      reasoning_effort: 'high',
    },
    warned: ['response_format'],
  },
  {
    name: 'replaces a forced tool choice for Z.AI, and renames user',
    model: 'zai/glm-5.3',
    request: { tool_choice: 'required', tools: [tool], user: 'u1', temperature: 1.5, seed: 3 },
    wire: { tool_choice: 'auto', user_id: 'u1', temperature: 1 },
    warned: ['temperature', 'seed', 'tool_choice'],
  },
  {
    name: 'refuses two choices from Z.AI',
    model: 'zai/glm-5.3',
    request: { n: 2 },
    refused: ['n'],
  },
  {
    name: 'switches off thinking at Alibaba',
    model: 'alibaba/qwen3.7-plus',
    request: { reasoning_effort: 'none' },
    wire: { enable_thinking: false },
  },
  {
    name: 'sends Mistral the closest effort that it supports',
    model: 'mistral/mistral-medium-latest',
    request: { reasoning_effort: 'medium' },
    wire: { reasoning_effort: 'high' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'maps a minimal effort to none for Mistral',
    model: 'mistral/mistral-medium-latest',
    request: { reasoning_effort: 'minimal' },
    wire: { reasoning_effort: 'none' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'sends Groq an effort that it supports',
    model: 'groq/gpt-oss-120b',
    request: { reasoning_effort: 'max' },
    wire: { reasoning_effort: 'high' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'omits fields that Groq rejects',
    model: 'groq/gpt-oss-120b',
    request: { logprobs: true, top_logprobs: 2, logit_bias: {} },
    wire: { logprobs: undefined, logit_bias: undefined },
    warned: ['logprobs', 'top_logprobs'],
  },
  {
    name: 'omits stop sequences for xAI’s reasoning models',
    model: 'xai/grok-4.3',
    request: { stop: 'END' },
    wire: { stop: undefined },
    warned: ['stop'],
  },
  {
    name: 'returns the members of OpenAI’s answers to OpenAI',
    model: 'gpt-4.1',
    request: { messages: later },
    wire: {
      'messages.1.refusal': null,
      'messages.1.reasoning_content': undefined,
      'messages.1.parsed': undefined,
      'messages.1.tool_calls.0.extra_content': undefined,
      'messages.3.refusal': 'No.',
      'messages.4.content.0.refusal': 'Never.',
    },
  },
  ...['groq/gpt-oss-120b', 'mistral/mistral-large-latest', 'xai/grok-4.3'].map((model) => ({
    name: `returns only text and calls to ${model}`,
    model,
    request: { messages: later },
    wire: { ...plain, 'messages.1.reasoning_content': undefined },
  })),
  {
    name: 'converts call ids for Mistral, the same for a call and its result',
    model: 'mistral/mistral-large-latest',
    request: { messages: later },
    wire: {
      'messages.1.tool_calls.0.id': callIdFor({ pattern: /^.{9}$/, length: 9 }, 'a'),
      'messages.2.tool_call_id': callIdFor({ pattern: /^.{9}$/, length: 9 }, 'a'),
    },
  },
  {
    name: 'returns its reasoning to Z.AI',
    model: 'zai/glm-5.3',
    request: { messages: later },
    wire: { ...plain, 'messages.1.reasoning_content': 'I have to look.' },
  },
  {
    name: 'returns its reasoning to DeepSeek, which requires it',
    model: 'deepseek/deepseek-v4-pro',
    request: {
      messages: [
        ...later,
        { role: 'assistant', tool_calls: [{ ...calling.tool_calls[0], id: 'b' }] },
        { role: 'tool', tool_call_id: 'b', content: 'Nothing.' },
      ],
    },
    wire: {
      ...plain,
      'messages.1.reasoning_content': 'I have to look.',
      'messages.3.reasoning_content': undefined,
      'messages.5.reasoning_content': ' ',
    },
  },
]

describe('a chat request to OpenAI and compatible vendors', () => describeWire(rows))

describe("a chat request to the operator's own endpoint", () => {
  it('contains all members of earlier answers', () => {
    const model = modelOf('gpt-4.1')
    const route = { model, provider: { id: 'own' }, upstreamModel: 'any' }
    const { body } = writeChat({ model: 'own/any', messages: later }, route, plainDialect)
    expect(body.messages).to.deep.equal(later)
  })
})
