import { FinishReasonValues } from '../../../generated/client-values.ts'
import type { ChatCompletion } from './chat.ts'

const known: ReadonlySet<string> = new Set(FinishReasonValues)
const mark = '"finish_reason":'
const reasonCharactersMax = 20
const reasonsMax = 8
/** Only the last chunks are parsed: `finish_reason` is null in all earlier chunks. */
const chunksMax = 64

/** Why the choices of an answer ended; other reasons than OpenAI's are left out. */
export function finishReasonsOf({ choices }: Pick<ChatCompletion, 'choices'>): string[] {
  const reasons = choices.map(({ finish_reason: reason }) => reason ?? '')
  return reasons.filter((reason) => known.has(reason)).slice(0, reasonsMax)
}

/**
 * The finish reasons in the events of a stream. JSON escapes quotation marks in the text of an answer,
 * so the search cannot match that text.
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
