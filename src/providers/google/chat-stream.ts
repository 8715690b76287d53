import type { ChatRequest, ChunkIdentity } from '../../core/chat/chat.ts'
import type { Target } from '../../core/model.ts'
import type { Usage } from '../../core/money/price.ts'
import type { TokensMax } from '../wire/token-count.ts'
import { tooLarge } from '../transport/answer-failure.ts'
import { callsMax, identityOf } from '../wire/ids.ts'
import {
  brokenOff,
  chunkWriter,
  parseEvent,
  toolDelta,
  type ChunkWriter,
  type Translator,
} from '../wire/translated-stream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { withCounted } from '../wire/web-search.ts'
import {
  bodyFailure,
  choiceIndex,
  finishReasonOf,
  logprobsOf,
  readUsage,
  refusalOf,
  refuseBlocked,
  toolCallOf,
  type CallPlace,
  type WireAnswer,
  type WireCandidate,
  type WirePart,
} from './answer.ts'
import { searchesCharged, searchesIn } from './search.ts'

/** Matches most events of a stream: their JSON string is copied without being parsed. */
const textEvent =
  /^\{"candidates":\s?\[\{"content":\s?\{"parts":\s?\[\{"text":\s?("[^"\\]+(?:\\.[^"\\]*)*")\}\],\s?"role":\s?"model"\},\s?"index":\s?0\}\],\s?"usageMetadata":/

/** State of one choice: whether it has text or calls, and how many calls. */
type Choice = {
  anything: boolean
  calls: number
  /** The text and what was searched, for a request that may search. */
  text: string
  grounding: unknown
}
/** What reading an answer needs besides its bytes. */
export type Reading = {
  createdSeconds: number
  /** The model name to report if the vendor sends none. */
  upstreamModel: string
  texts: VendorTexts
  tokensMax: TokensMax
  target: Target
  request: ChatRequest
}

/** Translates Gemini's partial answers to chunks (docs/vendors.md#gemini-stream). */
export function translator(options: Reading): Translator {
  const { texts, tokensMax } = options
  let identity: ChunkIdentity | undefined
  let writer: ChunkWriter
  const counts = usageReader(tokensMax)
  let finished = false
  const choices = new Map<number, Choice>()
  const searches = options.request.web_search_options != null
  const counted = () => withCounted(counts.read(), searchesOf(choices, finished, options))
  const readCandidate = (candidate: WireCandidate): string => {
    const { content, finishReason, logprobsResult } = candidate
    const index = choiceIndex(candidate, 0)
    if (writer.hasEnded(index)) return ''
    const choice = choices.get(index) ?? newChoice()
    choices.set(index, choice)
    let chunks = ''
    for (const part of content?.parts ?? []) {
      const delta = deltaOf(part, choice, { answer: identity!.id, choice: index }, options)
      if (delta !== undefined) chunks += writer.delta(index, delta)
    }
    const logprobs = logprobsOf(logprobsResult)
    if (logprobs !== null) chunks += writer.logprobs(index, JSON.stringify(logprobs))
    // Later metadata includes the earlier.
    choice.grounding = candidate.groundingMetadata ?? choice.grounding
    if (finishReason === undefined) return chunks
    const reason = finishReasonOf(candidate, choice)
    finished = true
    const about = { text: choice.text, answer: identity!.id }
    const refusal = refusalOf(candidate, texts)
    const last = { ...searchesIn(choice.grounding, about), ...(refusal && { refusal }) }
    for (const [name, value] of Object.entries(last)) {
      chunks += writer.delta(index, JSON.stringify({ [name]: value }))
    }
    return chunks + writer.finish(index, reason)
  }

  return {
    read: (data) => {
      // Citations name places in the text, so its text must be known.
      const text = identity === undefined || searches ? null : textEvent.exec(data)
      const first = text === null ? undefined : choices.get(0)
      if (text !== null && first !== undefined) {
        counts.later(data)
        first.anything = true
        return writer.delta(0, `{"content":${text[1]}}`)
      }
      const answer = parseEvent<WireAnswer & { error?: unknown }>(data)
      counts.now(answer.usageMetadata)
      if (answer.error != null) throw bodyFailure(answer, texts)
      refuseBlocked(answer, texts)
      if (identity === undefined) {
        const { responseId: id, modelVersion: model } = answer
        identity = identityOf({ id, model }, options)
        writer = chunkWriter(identity)
      }
      return (answer.candidates ?? []).map(readCandidate).join('')
    },
    finish: () => {
      if (!finished || identity === undefined) throw brokenOff()
      return { usage: counted(), identity }
    },
    usageSoFar: counted,
  }
}

/** The searches that the vendor charges. The last event lists them; until then one is assumed to precede the text. */
function searchesOf(
  choices: ReadonlyMap<number, Choice>,
  finished: boolean,
  { target, request: { web_search_options: search } }: Reading,
): number {
  const grounding = [...choices.values()].map((choice) => choice.grounding)
  const listed = searchesCharged(grounding, target)
  if (finished || listed > 0 || choices.size === 0) return listed
  const isLive = search != null && search.external_web_access !== false
  return isLive && target.model.prices.webSearch !== undefined ? 1 : 0
}

function newChoice(): Choice {
  return { anything: false, calls: 0, text: '', grounding: undefined }
}

/** The delta of a part as JSON; undefined for an empty part. */
function deltaOf(
  part: WirePart,
  choice: Choice,
  place: Pick<CallPlace, 'answer' | 'choice'>,
  { texts, target: { provider } }: Pick<Reading, 'texts' | 'target'>,
): string | undefined {
  if (part.functionCall !== undefined) {
    if (choice.calls >= callsMax) throw tooLarge()
    const index = choice.calls++
    choice.anything = true
    const call = {
      index,
      ...toolCallOf(part, { ...place, call: index, provider: provider.id }, texts),
    }
    return toolDelta(call)
  }
  if (part.text === undefined || part.text === '') return undefined
  if (part.thought === true) return `{"reasoning_content":${JSON.stringify(part.text)}}`
  choice.anything = true
  choice.text += part.text
  return `{"content":${JSON.stringify(part.text)}}`
}

function usageReader(tokensMax: TokensMax) {
  let usage: WireAnswer['usageMetadata'] | undefined
  let unread: string | undefined
  return {
    now: (counted: WireAnswer['usageMetadata'] | undefined) => {
      usage = counted ?? usage
      if (counted !== undefined) unread = undefined
    },
    /** Keeps an event, whose counts are parsed only if no later ones arrive before `read`. */
    later: (data: string) => {
      unread = data
    },
    read: (): Usage | undefined => {
      if (unread !== undefined) usage = parseEvent<WireAnswer>(unread).usageMetadata ?? usage
      unread = undefined
      return readUsage(usage, tokensMax)
    },
  }
}
