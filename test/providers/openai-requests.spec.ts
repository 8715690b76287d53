import { describeWire, hello, type WireRow } from '../support/chat-wire.ts'

const tool = {
  type: 'function' as const,
  function: { name: 'look', parameters: { type: 'object' } },
}
const schema = { type: 'object', properties: {} }
const asked = { type: 'json_schema' as const, json_schema: { name: 'it', schema } }

const rows: WireRow[] = [
  {
    name: 'names the limit as models that reason do',
    model: 'gpt-5.2',
    request: { max_tokens: 50 },
    wire: { max_completion_tokens: 50, max_tokens: undefined },
  },
  {
    name: 'leaves out what models that reason do not take',
    model: 'gpt-5.2',
    request: { temperature: 0.3, top_p: 1, logprobs: true, presence_penalty: 0 },
    wire: { temperature: undefined, top_p: undefined, logprobs: undefined },
    warned: ['temperature', 'logprobs'],
  },
  {
    name: 'keeps it for those that do not reason when they need not',
    model: 'gpt-5.2',
    request: { temperature: 0.3, reasoning_effort: 'none' },
    wire: { temperature: 0.3 },
  },
  {
    name: 'leaves out an effort where there is no reasoning',
    model: 'gpt-4.1',
    request: { reasoning_effort: 'high' },
    wire: { reasoning_effort: undefined },
    warned: ['reasoning_effort'],
  },
  {
    name: 'passes on what it does not know',
    model: 'gpt-4.1',
    request: { store: true, verbosity: 'low' },
    wire: { store: true, verbosity: 'low' },
  },
  {
    name: 'always asks a stream for its counts',
    model: 'gpt-4.1',
    request: { stream: true },
    wire: { 'stream_options.include_usage': true },
  },
  {
    name: 'says that a language model has no image_config',
    model: 'gpt-4.1',
    request: { image_config: { n: 1 } },
    wire: { image_config: undefined },
    warned: ['image_config'],
  },
  {
    name: 'speaks as Mistral does',
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
    name: 'asks DeepSeek for a schema in words',
    model: 'deepseek/deepseek-v4-pro',
    request: { response_format: asked, reasoning_effort: 'high' },
    wire: {
      'response_format.type': 'json_object',
      'messages.0.role': 'system',
      'thinking.type': 'enabled',
      reasoning_effort: undefined,
    },
    warned: ['reasoning_effort', 'response_format'],
  },
  {
    name: 'lets Z.AI choose its tools, and names its user',
    model: 'zai/glm-5.3',
    request: { tool_choice: 'required', tools: [tool], user: 'u1', temperature: 1.5, seed: 3 },
    wire: { tool_choice: 'auto', user_id: 'u1', temperature: 1 },
    warned: ['temperature', 'seed', 'tool_choice'],
  },
  {
    name: 'does not have Z.AI answer twice',
    model: 'zai/glm-5.3',
    request: { n: 2 },
    refused: ['n'],
  },
  {
    name: 'turns thinking off at Alibaba',
    model: 'alibaba/qwen3.7-plus',
    request: { reasoning_effort: 'none' },
    wire: { enable_thinking: false },
  },
  {
    name: 'spares Groq what it refuses',
    model: 'groq/gpt-oss-120b',
    request: { logprobs: true, top_logprobs: 2, logit_bias: {} },
    wire: { logprobs: undefined, logit_bias: undefined },
    warned: ['logprobs', 'top_logprobs'],
  },
  {
    name: 'spares what reasons at xAI its stops',
    model: 'xai/grok-4.3',
    request: { stop: 'END' },
    wire: { stop: undefined },
    warned: ['stop'],
  },
]

describe('a chat request to OpenAI and its like', () => describeWire(rows))
