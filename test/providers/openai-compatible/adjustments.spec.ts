import type { ChatRequest } from '../../../src/core/chat/chat.ts'
import { describeWire, hello, type WireRow } from '../../support/chat-wire.ts'

const tool = {
  type: 'function' as const,
  function: { name: 'look', parameters: { type: 'object' } },
}
const clock = { type: 'function' as const, function: { name: 'clock' } }
const shell = { type: 'custom' as const, custom: { name: 'shell' } }
const allowed = (mode: 'auto' | 'required') => ({
  tools: [tool, clock],
  tool_choice: {
    type: 'allowed_tools' as const,
    allowed_tools: { mode, tools: [{ type: 'function' as const, function: { name: 'clock' } }] },
  },
})
const oldCall: ChatRequest['messages'] = [
  ...hello,
  { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{"x":1}' } },
  { role: 'function', name: 'look', content: null },
]
const customCall: ChatRequest['messages'] = [
  ...hello,
  {
    role: 'assistant',
    tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'shell', input: 'ls' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'a.txt' },
]

const tools: WireRow[] = [
  {
    name: 'sends OpenAI custom tools and the tool choice',
    model: 'gpt-5',
    request: { tools: [shell], tool_choice: { type: 'custom', custom: { name: 'shell' } } },
    wire: { 'tools.0.custom.name': 'shell', 'tool_choice.custom.name': 'shell' },
  },
  {
    name: 'sends OpenAI all tools and allowed_tools',
    model: 'gpt-4.1',
    request: allowed('auto'),
    wire: { 'tools.1.function.name': 'clock', 'tool_choice.type': 'allowed_tools' },
  },
  ...['mistral/mistral-large-latest', 'groq/gpt-oss-120b', 'xai/grok-4.3'].flatMap(
    (model): WireRow[] => [
      {
        name: `sends ${model} only the allowed tools`,
        model,
        request: allowed('auto'),
        wire: { 'tools.0.function.name': 'clock', 'tools.1': undefined, tool_choice: 'auto' },
        warned: ['tool_choice'],
      },
      {
        name: `refuses custom tools for ${model}`,
        model,
        request: { tools: [tool, shell] },
        refused: ['tools[1].type'],
      },
      {
        name: `refuses calls of custom tools for ${model}`,
        model,
        request: { messages: customCall },
        refused: ['messages[1].tool_calls[0].type'],
      },
    ],
  ),
  {
    name: 'returns calls of custom tools to OpenAI',
    model: 'gpt-5',
    request: { messages: customCall },
    wire: { 'messages.1.tool_calls.0.custom.input': 'ls', 'messages.2.tool_call_id': 'call_1' },
  },
  {
    name: 'sends OpenAI deprecated functions unchanged',
    model: 'gpt-4.1',
    request: { messages: oldCall, functions: [tool.function], function_call: { name: 'look' } },
    wire: {
      'functions.0.name': 'look',
      'function_call.name': 'look',
      'messages.1.function_call.arguments': '{"x":1}',
      'messages.2.role': 'function',
    },
  },
  {
    name: 'sends Groq deprecated functions as tools',
    model: 'groq/gpt-oss-120b',
    request: { messages: oldCall, functions: [tool.function], function_call: { name: 'look' } },
    wire: {
      functions: undefined,
      function_call: undefined,
      'tools.0.function.name': 'look',
      'tool_choice.function.name': 'look',
      'messages.1.function_call': undefined,
      'messages.1.tool_calls.0.id': 'call_1',
      'messages.1.tool_calls.0.function.arguments': '{"x":1}',
      'messages.2.role': 'tool',
      'messages.2.tool_call_id': 'call_1',
      'messages.2.content': '',
    },
    warned: ['functions'],
  },
  {
    name: 'does not send Z.AI tools that it must not call',
    model: 'zai/glm-4.7',
    request: { tools: [tool], tool_choice: 'none' },
    wire: { tools: undefined, tool_choice: undefined },
    warned: ['tool_choice'],
  },
  {
    name: 'sends Mistral empty parameters for a function without any',
    model: 'mistral/mistral-large-latest',
    request: { tools: [clock] },
    wire: { 'tools.0.function.parameters.type': 'object' },
  },
]

const fields: WireRow[] = [
  {
    name: 'sends one of two limits, and warns of the other',
    model: 'gpt-5',
    request: { max_tokens: 50, max_completion_tokens: 100 },
    wire: { max_tokens: undefined, max_completion_tokens: 100 },
    warned: ['max_tokens'],
  },
  {
    name: 'sends one of two equal limits',
    model: 'mistral/mistral-large-latest',
    request: { max_tokens: 100, max_completion_tokens: 100 },
    wire: { max_tokens: 100, max_completion_tokens: undefined },
  },
  {
    name: 'omits empty stop sequences with a warning',
    model: 'gpt-4.1',
    request: { stop: ['', 'END', ' '] },
    wire: { 'stop.0': 'END', 'stop.1': ' ' },
    warned: ['stop'],
  },
  {
    name: 'omits stop sequences for OpenAI’s reasoning models',
    model: 'o4-mini',
    request: { stop: 'END' },
    wire: { stop: undefined },
    warned: ['stop'],
  },
  {
    name: 'sends Z.AI one stop sequence',
    model: 'zai/glm-4.7',
    request: { stop: ['A', 'B'] },
    wire: { 'stop.0': 'A', 'stop.1': undefined },
    warned: ['stop'],
  },
  {
    name: 'sends Together the number of log probabilities',
    model: 'together/any',
    request: { logprobs: true, top_logprobs: 3, stop: 'END' },
    wire: { logprobs: 3, top_logprobs: undefined, 'stop.0': 'END' },
  },
  {
    name: 'passes unknown fields to vendors that ignore them',
    model: 'deepseek/deepseek-v4-pro',
    request: { colour: 'red', thinking_budget: 5 },
    wire: { colour: 'red', thinking_budget: 5 },
  },
  {
    name: 'warns of fields that OpenAI rejects as unknown',
    model: 'gpt-4.1',
    request: { colour: 'red' },
    wire: { colour: undefined },
    warned: ['colour'],
  },
  {
    name: 'warns of members of messages that a vendor rejects',
    model: 'mistral/mistral-large-latest',
    request: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'Hi', colour: 'red' } as never],
          name: 'a',
        },
        { role: 'assistant', content: 'Hi.', audio: { id: 'audio_1' } } as never,
        ...hello,
      ],
    },
    wire: { 'messages.0.name': undefined, 'messages.0.content.0.colour': undefined },
    warned: ['messages[0].content[0].colour', 'messages[0].name', 'messages[1].audio'],
  },
]

describe('tools of a chat request to OpenAI-compatible vendors', () => describeWire(tools))
describe('fields of a chat request to OpenAI-compatible vendors', () => describeWire(fields))
