import { describeWire, type WireRow } from '../../support/chat-wire.ts'

const tool = {
  type: 'function' as const,
  function: { name: 'look', parameters: { type: 'object' } },
}
const forced = { tools: [tool], tool_choice: 'required' as const }

const rows: WireRow[] = [
  {
    name: 'switches DeepSeek’s thinking off where a tool is forced, and says so',
    model: 'deepseek/deepseek-v4-pro',
    request: { ...forced, reasoning_effort: 'high' },
    wire: { 'thinking.type': 'disabled', reasoning_effort: undefined, tool_choice: 'required' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'leaves DeepSeek’s thinking on beside tools that it may choose',
    model: 'deepseek/deepseek-v4-pro',
    request: { tools: [tool], tool_choice: 'auto' },
    wire: { thinking: undefined, tool_choice: 'auto' },
  },
  {
    name: 'tells that DeepSeek’s temperature does nothing while it thinks',
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
    name: 'switches the thinking of Qwen 3.8 off where a tool is forced',
    model: 'alibaba/qwen3.8-max',
    request: forced,
    wire: { enable_thinking: false, tool_choice: 'required' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'asks Qwen 3.8 for the effort that it has',
    model: 'alibaba/qwen3.8-max',
    request: { reasoning_effort: 'high' },
    wire: { enable_thinking: true, reasoning_effort: 'xhigh' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'asks Seed 2.0 for an effort',
    model: 'bytedance/seed-2-0-pro',
    request: { reasoning_effort: 'minimal', user: 'u-1' },
    wire: { 'thinking.type': 'enabled', reasoning_effort: 'minimal', user: 'u-1' },
  },
  {
    name: 'asks an older Seed to think, without an effort',
    model: 'bytedance/seed-1-6-flash',
    request: { reasoning_effort: 'low' },
    wire: { 'thinking.type': 'enabled', reasoning_effort: undefined },
    warned: ['reasoning_effort'],
  },
  {
    name: 'has GLM 5.3 think a little when it is asked not to',
    model: 'zai/glm-5.3',
    request: { reasoning_effort: 'none' },
    wire: { 'thinking.type': 'enabled', reasoning_effort: 'low' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'switches the thinking of GLM 5.2 off',
    model: 'zai/glm-5.2',
    request: { reasoning_effort: 'none' },
    wire: { 'thinking.type': 'disabled', reasoning_effort: undefined },
  },
  {
    name: 'asks Grok 4.7 for the least that it has',
    model: 'xai/grok-4.7',
    request: { reasoning_effort: 'none' },
    wire: { reasoning_effort: 'low' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'has Qwen on Groq think as it does, or not',
    model: 'groq/qwen3.6-27b',
    request: { reasoning_effort: 'low' },
    wire: { reasoning_effort: undefined },
    warned: ['reasoning_effort'],
  },
  {
    name: 'lets Kimi choose its tool, since it always thinks',
    model: 'moonshot/kimi-k3',
    request: forced,
    wire: { tool_choice: 'auto', thinking: undefined },
    warned: ['tool_choice'],
  },
  {
    name: 'does not tell Kimi what is fixed',
    model: 'moonshot/kimi-k2.6',
    request: { temperature: 0.3, top_p: 0.9, n: 1, presence_penalty: 0 },
    wire: { temperature: undefined, top_p: undefined, n: undefined, presence_penalty: undefined },
    warned: ['temperature', 'top_p'],
  },
  {
    name: 'does not have Kimi answer twice',
    model: 'moonshot/kimi-k2.6',
    request: { n: 2 },
    refused: ['n'],
  },
  {
    name: 'asks a model that nobody described for what was asked',
    model: 'moonshot/moonshot-v1-8k',
    request: { temperature: 0.3, reasoning_effort: 'high', n: 2 },
    wire: { temperature: 0.3, reasoning_effort: 'high', n: 2, thinking: undefined },
  },
]

describe('a chat request to OpenAI’s like, by its thinking', () => describeWire(rows))
