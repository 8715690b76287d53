import type { ChatCompletion } from './chat.ts'

/** What else a vendor says is its own text. */
const known: ReadonlySet<string> = new Set([
  'stop',
  'length',
  'tool_calls',
  'function_call',
  'content_filter',
])
const mark = '"finish_reason":'
const reasonCharactersMax = 20
const reasonsMax = 8
/** The reasons come last: each chunk has one, which is null until then. */
const chunksMax = 64

/** Why the choices of an answer ended; other reasons than OpenAI's are left out. */
export function finishReasonsOf({ choices }: Pick<ChatCompletion, 'choices'>): string[] {
  const reasons = choices.map(({ finish_reason: reason }) => reason ?? '')
  return reasons.filter((reason) => known.has(reason)).slice(0, reasonsMax)
}

/**
 * The same for a stream, by its events. Quotation marks that a model writes are escaped there, so that
 * no text of an answer is found.
 */
export function finishReasonsIn(events: Buffer): string[] {
  const reasons: string[] = []
  let at = events.lastIndexOf(mark)
  for (let looked = 0; at >= 0 && looked < chunksMax && reasons.length < reasonsMax; looked++) {
    const begin = at + mark.length
    const value = events.toString('latin1', begin, begin + reasonCharactersMax)
    const [, reason = ''] = /^ *"([a-z_]+)"/.exec(value) ?? []
    if (known.has(reason)) reasons.unshift(reason)
    at = at === 0 ? -1 : events.lastIndexOf(mark, at - 1)
  }
  return reasons
}
