import { describeWire, type WireRow } from '../../support/chat-wire.ts'

const tool = {
  type: 'function' as const,
  function: { name: 'look', parameters: { type: 'object' } },
}
const forced = { tools: [tool], tool_choice: 'required' as const }

const rows: WireRow[] = [
  {
    name: 'sends tools to OpenAI’s Responses API if the model reasons',
    model: 'gpt-5.6-terra',
    request: { tools: [tool] },
    wire: { messages: undefined, 'input.0.role': 'user', 'tools.0.strict': false, store: false },
  },
  {
    name: 'switches off reasoning of OpenAI’s models next to tools for several answers',
    model: 'gpt-5.6-terra',
    request: { tools: [tool], n: 2 },
    wire: { reasoning_effort: 'none', n: 2 },
    warned: ['reasoning_effort'],
  },
  {
    name: 'keeps tools in the chat API if the caller switches reasoning off',
    model: 'gpt-5.6-terra',
    request: { tools: [tool], reasoning_effort: 'none' },
    wire: { reasoning_effort: 'none', input: undefined },
  },
  {
    name: 'sends no effort next to tools to models that do not reason by default',
    model: 'gpt-5.4',
    request: { tools: [tool] },
    wire: { reasoning_effort: undefined },
  },
  {
    name: 'uses the Responses API for requested reasoning of those models next to tools',
    model: 'gpt-5.4',
    request: { tools: [tool], reasoning_effort: 'max' },
    wire: { reasoning_effort: undefined, 'reasoning.effort': 'xhigh' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'allows reasoning next to tools for older models',
    model: 'gpt-5',
    request: { tools: [tool], reasoning_effort: 'none' },
    wire: { reasoning_effort: 'minimal' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'uses the Responses API for tools of models that always reason',
    model: 'gpt-6-astra',
    request: { tools: [tool], reasoning_effort: 'low' },
    wire: { 'reasoning.effort': 'low', tool_choice: undefined },
  },
  {
    name: 'refuses several answers of a model that has its tools in the Responses API only',
    model: 'gpt-6-astra',
    request: { tools: [tool], n: 2 },
    refused: ['n'],
  },
  {
    name: 'raises a token limit to the least of the Responses API',
    model: 'gpt-6.2-sol',
    request: { tools: [tool], max_tokens: 5, seed: 4 },
    wire: { max_output_tokens: 16, seed: undefined },
    warned: ['max_tokens', 'seed'],
  },
  {
    name: 'switches off DeepSeek’s thinking for a forced tool, with a warning',
    model: 'deepseek/deepseek-v4-pro',
    request: { ...forced, reasoning_effort: 'high' },
    wire: { 'thinking.type': 'disabled', reasoning_effort: undefined, tool_choice: 'required' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'keeps DeepSeek’s thinking next to optional tools',
    model: 'deepseek/deepseek-v4-pro',
    request: { tools: [tool], tool_choice: 'auto' },
    wire: { thinking: undefined, tool_choice: 'auto' },
  },
  {
    name: 'warns that DeepSeek’s temperature has no effect while it thinks',
    model: 'deepseek/deepseek-flash',
    request: { temperature: 0.3 },
    wire: { temperature: undefined },
    warned: ['temperature'],
  },
  {
    name: 'keeps DeepSeek’s temperature when it does not think',
    model: 'deepseek/deepseek-flash',
    request: { temperature: 0.3, reasoning_effort: 'none' },
    wire: { temperature: 0.3, 'thinking.type': 'disabled', reasoning_effort: undefined },
  },
  {
    name: 'switches off the thinking of Qwen 3.8 for a forced tool',
    model: 'alibaba/qwen3.8-max',
    request: forced,
    wire: { enable_thinking: false, tool_choice: 'required' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'sends Qwen 3.8 an effort that it supports',
    model: 'alibaba/qwen3.8-max',
    request: { reasoning_effort: 'high' },
    wire: { enable_thinking: true, reasoning_effort: 'xhigh' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'sends Seed 2.0 an effort',
    model: 'bytedance/seed-2-0-pro',
    request: { reasoning_effort: 'minimal', user: 'u-1' },
    wire: { 'thinking.type': 'enabled', reasoning_effort: 'minimal', user: 'u-1' },
  },
  {
    name: 'switches on thinking of an older Seed, without an effort',
    model: 'bytedance/seed-1-6-flash',
    request: { reasoning_effort: 'low' },
    wire: { 'thinking.type': 'enabled', reasoning_effort: undefined },
    warned: ['reasoning_effort'],
  },
  {
    name: 'uses the lowest effort for GLM 5.3 when thinking is switched off',
    model: 'zai/glm-5.3',
    request: { reasoning_effort: 'none' },
    wire: { 'thinking.type': 'enabled', reasoning_effort: 'low' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'switches off the thinking of GLM 5.2',
    model: 'zai/glm-5.2',
    request: { reasoning_effort: 'none' },
    wire: { 'thinking.type': 'disabled', reasoning_effort: undefined },
  },
  {
    name: 'sends Grok 4.7 its lowest effort',
    model: 'xai/grok-4.7',
    request: { reasoning_effort: 'none' },
    wire: { reasoning_effort: 'low' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'omits the effort for Qwen on Groq, which only switches thinking',
    model: 'groq/qwen3.6-27b',
    request: { reasoning_effort: 'low' },
    wire: { reasoning_effort: undefined },
    warned: ['reasoning_effort'],
  },
  {
    name: 'replaces a forced tool choice for Kimi, which always thinks',
    model: 'moonshot/kimi-k3',
    request: forced,
    wire: { tool_choice: 'auto', thinking: undefined },
    warned: ['tool_choice'],
  },
  {
    name: 'omits fields with fixed values for Kimi',
    model: 'moonshot/kimi-k2.6',
    request: { temperature: 0.3, top_p: 0.9, n: 1, presence_penalty: 0 },
    wire: { temperature: undefined, top_p: undefined, n: undefined, presence_penalty: undefined },
    warned: ['temperature', 'top_p'],
  },
  {
    name: 'refuses two choices from Kimi',
    model: 'moonshot/kimi-k2.6',
    request: { n: 2 },
    refused: ['n'],
  },
  {
    name: 'sends an undescribed model all fields unchanged',
    model: 'moonshot/moonshot-v1-8k',
    request: { temperature: 0.3, reasoning_effort: 'high', n: 2 },
    wire: { temperature: 0.3, reasoning_effort: 'high', n: 2, thinking: undefined },
  },
]

describe('thinking in a chat request to OpenAI-compatible vendors', () => describeWire(rows))
