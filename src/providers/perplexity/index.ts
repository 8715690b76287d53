import { platformFieldsExcept } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import { costOf } from '../wire/reported-cost.ts'

/** Perplexity, whose models search the web (docs/vendors.md#openai-compatible-endpoints). */
export const perplexity = protocolVendor({
  id: 'perplexity',
  name: 'Perplexity',
  keyPrefixes: ['pplx-'],
  anyModel: true,
  baseUrl: 'https://api.perplexity.ai',
  dialect: {
    // Perplexity ignores these fields silently, so they are dropped here with a warning.
    without: [
      'logit_bias',
      'logprobs',
      'n',
      'parallel_tool_calls',
      'seed',
      'stop',
      'tool_choice',
      'tools',
      'top_logprobs',
      'user',
      ...platformFieldsExcept('web_search_options'),
    ],
    limit: 'max_tokens',
    alwaysCounts: true,
    noDeveloper: true,
    takesBack: [],
    readCost,
  },
})

/** The cost of a call with its searches, in dollars; the last event of a stream has it. */
function readCost({ cost }: { cost?: { total_cost?: unknown } | null }) {
  return costOf(cost?.total_cost)
}
