import { ProviderFailure } from '../../core/failure.ts'

/** What ends an answer of OpenAI. */
const own = new Set(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])

/** Words of servers and vendors for the same. */
const synonyms: Readonly<Record<string, string>> = {
  max_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  context_length_exceeded: 'length',
  tool_call: 'tool_calls',
  tool_use: 'tool_calls',
  safety: 'content_filter',
  content_filtered: 'content_filter',
  refusal: 'content_filter',
}

/**
 * Why an answer ended, in OpenAI's words: `eos` and every other unknown one is `stop`, and so is none.
 * `dialect` has those of the vendor. Calls are what ends an answer that has them. Throws a
 * ProviderFailure when it ended by a failure.
 */
export function finishReasonOf(
  reason: unknown,
  calls: boolean,
  dialect: Readonly<Record<string, string>> = {},
): string {
  const word = typeof reason === 'string' ? reason : ''
  if (word === 'error' || word === 'network_error') {
    throw new ProviderFailure('overloaded', 'The provider failed while it answered.')
  }
  const told = named(dialect, word) ?? named(synonyms, word.toLowerCase()) ?? word
  const known = own.has(told) ? told : 'stop'
  return known === 'stop' && calls ? 'tool_calls' : known
}

function named(names: Readonly<Record<string, string>>, word: string): string | undefined {
  return Object.hasOwn(names, word) ? names[word] : undefined
}
