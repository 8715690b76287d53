import {
  platformFieldsExcept,
  thinkingSwitch,
  type Abilities,
} from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Fields for which each Kimi model accepts a single value, so the gateway does not send them. */
const fixed = ['temperature', 'top_p', 'n', 'presence_penalty', 'frequency_penalty']
const families: readonly (readonly [RegExp, Abilities])[] = [
  [
    /^kimi-k[3-9]/,
    {
      efforts: ['low', 'high', 'max'],
      thinks: 'always',
      tools_while_thinking: 'unforced',
      without: fixed,
    },
  ],
  [/^kimi-k2\.7/, { thinks: 'always', tools_while_thinking: 'unforced', without: fixed }],
  [/^kimi-k2\.[56]/, { thinks: 'unasked', tools_while_thinking: 'unforced', without: fixed }],
]

/** Moonshot (docs/vendors.md#openai-compatible-endpoints). */
export const moonshot = protocolVendor({
  id: 'moonshot',
  name: 'Moonshot',
  traceName: 'moonshot_ai',
  keyPrefixes: ['sk-'],
  anyModel: true,
  baseUrl: 'https://api.moonshot.ai/v1',
  namePrefixes: ['moonshotai'],
  dialect: {
    without: [
      'logit_bias',
      'logprobs',
      'parallel_tool_calls',
      'seed',
      'top_logprobs',
      'user',
      ...platformFieldsExcept('prompt_cache_key', 'safety_identifier'),
    ],
    limit: 'max_completion_tokens',
    thinking: thinkingSwitch,
    families,
    noDeveloper: true,
    takesBack: ['reasoning_content'],
    wantsReasoning: true,
  },
})
