import type { Usage } from '../../core/price.ts'
import {
  brokenOff,
  chunkWriter,
  parseEvent,
  roleDelta,
  type ChunkWriter,
  type Translator,
} from '../wire/translated-stream.ts'
import {
  finishReasonOf,
  logprobsOf,
  refuseBlocked,
  toolCallOf,
  type WireAnswer,
  type WireCandidate,
  type WirePart,
} from './answer.ts'
import { streamFailure } from './failure.ts'
import { readUsage, type WireUsage } from './usage.ts'

/** Matches most events of a stream: their JSON string is copied without being parsed. */
const textEvent =
  /^\{"candidates":\s?\[\{"content":\s?\{"parts":\s?\[\{"text":\s?("[^"\\]+(?:\\.[^"\\]*)*")\}\],\s?"role":\s?"model"\},\s?"index":\s?0\}\],\s?"usageMetadata":/

/** One choice so far: whether it has any content, and how many tool calls. */
type Choice = { anything: boolean; calls: number }

/** Translates Gemini's partial answers to chunks (docs/vendors.md#gemini-stream). */
export function translator(createdSeconds: number): Translator {
  let identity: { id: string; created: number; model: string } | undefined
  let writer: ChunkWriter
  const counts = countKeeper()
  let finished = false
  const choices: (Choice | undefined)[] = []

  const piece = (part: WirePart, answer: WireAnswer, choice: Choice): string | undefined => {
    if (part.functionCall !== undefined) {
      const index = choice.calls++
      return `{"tool_calls":[${JSON.stringify({ index, ...toolCallOf(part, answer, index) })}]}`
    }
    if (part.text === undefined || part.text === '') return undefined
    return `{"${part.thought === true ? 'reasoning_content' : 'content'}":${JSON.stringify(part.text)}}`
  }
  const readCandidate = (candidate: WireCandidate, answer: WireAnswer): string => {
    const { index = 0, content, finishReason, logprobsResult } = candidate
    const choice = (choices[index] ??= { anything: false, calls: 0 })
    let chunks = ''
    const begin = () => {
      if (!choice.anything) chunks += writer.delta(index, roleDelta)
      choice.anything = true
    }
    for (const part of content?.parts ?? []) {
      const delta = piece(part, answer, choice)
      if (delta === undefined) continue
      begin()
      chunks += writer.delta(index, delta)
    }
    const logprobs = logprobsOf(logprobsResult)
    if (logprobs !== null) chunks += writer.logprobs(index, JSON.stringify(logprobs))
    if (finishReason === undefined) return chunks
    const reason = finishReasonOf(candidate, choice)
    begin()
    finished = true
    return chunks + writer.finish(index, reason)
  }

  return {
    read: (data) => {
      const text = identity === undefined ? null : textEvent.exec(data)
      if (text !== null && choices[0]?.anything === true) {
        counts.later(data)
        return writer.delta(0, `{"content":${text[1]}}`)
      }
      const answer = parseEvent<WireAnswer & { error?: unknown }>(data)
      if (answer.error !== undefined) throw streamFailure(answer)
      refuseBlocked(answer)
      if (identity === undefined) {
        const { responseId: id = '', modelVersion: model = '' } = answer
        identity = { id, created: createdSeconds, model }
        writer = chunkWriter(identity)
      }
      counts.now(answer.usageMetadata)
      let chunks = ''
      for (const candidate of answer.candidates ?? []) chunks += readCandidate(candidate, answer)
      return chunks
    },
    finish: () => {
      if (!finished || identity === undefined) throw brokenOff()
      return { usage: counts.read(), identity }
    },
    usageSoFar: counts.read,
  }
}

/** Keeps the latest token counts. */
function countKeeper() {
  let usage: WireUsage | undefined
  let unread: string | undefined
  return {
    now: (counted: WireUsage | undefined) => {
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
      return readUsage(usage)
    },
  }
}
