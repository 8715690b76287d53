import type { Abilities } from '../openai-compatible/dialect.ts'

/** Fields that all reasoning models reject. */
const without = ['stop']
/**
 * Abilities of the generations of reasoning models by name, including dated snapshots
 * (docs/vendors.md#openai-efforts-and-tools).
 */
export const families: readonly (readonly [RegExp, Abilities])[] = [
  [
    /^(?:gpt-5(?:\.\d)?-(?:pro|codex)|gpt-5\.6-cyber|gpt-daybreak|o[13]-pro)/,
    { thinks: 'always', responses_only: true, without },
  ],
  [
    /^gpt-6(?:-(?:sol|luna)|\.1-terra)/,
    {
      efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
      thinks: 'unasked',
      tools_while_thinking: 'none',
      without,
    },
  ],
  [
    /^gpt-(?:[6-9]|\d\d)/,
    {
      efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
      thinks: 'always',
      tools_while_thinking: 'none',
      without,
    },
  ],
  [
    /^gpt-5\.[6-9]/,
    {
      efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
      thinks: 'unasked',
      tools_while_thinking: 'none',
      samples_without_thinking: true,
      without,
    },
  ],
  [
    /^gpt-5\.[45]/,
    {
      efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
      thinks: 'asked',
      tools_while_thinking: 'none',
      samples_without_thinking: true,
      without,
    },
  ],
  [
    /^gpt-5\.1/,
    {
      efforts: ['none', 'low', 'medium', 'high'],
      thinks: 'asked',
      samples_without_thinking: true,
      without,
    },
  ],
  [
    /^gpt-5\.\d/,
    {
      efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
      thinks: 'asked',
      samples_without_thinking: true,
      without,
    },
  ],
  [/^gpt-5/, { efforts: ['minimal', 'low', 'medium', 'high'], thinks: 'always', without }],
  [/^o\d/, { efforts: ['low', 'medium', 'high'], thinks: 'always', without }],
]
