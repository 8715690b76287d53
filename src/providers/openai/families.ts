import type { Abilities } from '../openai-compatible/dialect.ts'

/** Fields that all reasoning models reject. */
const without = ['stop']
const efforts = ['none', 'low', 'medium', 'high', 'xhigh'] as const
/** Models of the fifth generation since 5.1. */
const fifth: Abilities = {
  efforts: [...efforts],
  thinks: 'asked',
  samples_without_thinking: true,
  without,
}
/** Models that refuse tools in the chat API while they think. */
const toolless = { tools_while_thinking: 'none', without } as const

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
    { efforts: [...efforts, 'max'], thinks: 'unasked', ...toolless },
  ],
  [/^gpt-(?:[6-9]|\d\d)/, { efforts: [...efforts.slice(1), 'max'], thinks: 'always', ...toolless }],
  [/^gpt-5\.[6-9]/, { ...fifth, thinks: 'unasked', ...toolless }],
  [/^gpt-5\.[45]/, { ...fifth, ...toolless }],
  [/^gpt-5\.1/, { ...fifth, efforts: efforts.slice(0, -1) }],
  [/^gpt-5\.\d/, fifth],
  [/^gpt-5/, { efforts: ['minimal', 'low', 'medium', 'high'], thinks: 'always', without }],
  [/^o\d/, { efforts: ['low', 'medium', 'high'], thinks: 'always', without }],
]
