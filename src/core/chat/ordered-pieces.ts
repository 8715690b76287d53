import type { MemoryHold } from '../../bytes/memory-budget.ts'
import { ProviderFailure } from '../failure.ts'
import type { ChatChunk } from './chunks.ts'

type Delta = NonNullable<NonNullable<NonNullable<ChatChunk['choices']>[number]>['delta']>
type CallDelta = NonNullable<Delta['tool_calls']>[number]
type Search = NonNullable<Delta['web_searches']>[number]
type Citation = NonNullable<Delta['annotations']>[number]

/** A tool call of an answer as it begins. */
export type CallHead = Pick<CallDelta, 'index' | 'id' | 'extra_content'> & {
  name: string
  isCustom: boolean
}
/** A piece of an answer; `input` belongs to the call that began last. */
export type Piece =
  | { kind: 'reasoning' | 'text' | 'refusal' | 'input'; text: string }
  | { kind: 'call'; call: CallHead }
  /** A search of the vendor. */
  | { kind: 'search'; search: Search }
  /** Sources of the text, whose places are those in the whole text of the answer. */
  | { kind: 'citations'; citations: readonly Citation[] }

type OpenCall = CallHead & { text: string }
type TextPiece = Exclude<Piece, { kind: 'call' | 'input' }>
type Waiting = TextPiece | OpenCall

/** More than any model writes. */
const textLengthMax = 16 * 1024 * 1024
/** The length that a call counts besides its texts. */
const callLength = 256
/** Memory is taken in steps. */
const stepLength = 4096

/** Reads the chunks of an answer with one choice. */
export type PieceReader = ReturnType<typeof orderedPieces>

/**
 * Writes the pieces of an answer for APIs in which an item ends before the next begins: what arrives before
 * a call is complete waits for the end of the answer. `memory` counts the texts, which these APIs repeat at the
 * end of an item. `read` throws a ProviderFailure for an answer without end.
 */
export function orderedPieces(memory: Pick<MemoryHold, 'takeMore'>, write: (piece: Piece) => void) {
  const count = lengthCounter(memory)
  const calls = new Map<number, OpenCall>()
  const waiting: Waiting[] = []
  let open: OpenCall | undefined
  let finishReason: string | undefined

  const mustWait = () => waiting.length > 0 || (open !== undefined && !isComplete(open))
  const writeInput = (text: string) => {
    if (text !== '') write({ kind: 'input', text })
  }
  const begin = (call: OpenCall) => {
    open = call
    write({ kind: 'call', call })
    writeInput(call.text)
  }
  const say = (piece: TextPiece) => {
    count('text' in piece ? piece.text.length : JSON.stringify(piece).length)
    if (mustWait()) {
      waiting.push(piece)
      return
    }
    open = undefined
    write(piece)
  }
  const readCall = (delta: CallDelta) => {
    const { index, id, function: called, custom, extra_content } = delta
    const text = called?.arguments ?? custom?.input ?? ''
    const known = calls.get(index)
    count(text.length + (known === undefined ? callLength : 0))
    if (known !== undefined) {
      known.text += text
      if (open === known) writeInput(text)
      return
    }
    const name = called?.name ?? custom?.name ?? ''
    const isCustom = custom !== undefined
    const call = { index, name, isCustom, text, ...(id === undefined ? {} : { id }) }
    const whole = extra_content === undefined ? call : { ...call, extra_content }
    calls.set(index, whole)
    if (mustWait()) waiting.push(whole)
    else begin(whole)
  }
  return {
    read: ({ choices }: ChatChunk) => {
      const { delta = {}, finish_reason: reason } = choices?.[0] ?? {}
      finishReason = reason ?? finishReason
      const { reasoning_content: thought, content, refusal, annotations: citations } = delta
      if (thought) say({ kind: 'reasoning', text: thought })
      // In a whole answer the searches come before the text.
      for (const search of delta.web_searches ?? []) say({ kind: 'search', search })
      if (content) say({ kind: 'text', text: content })
      if (citations !== undefined && citations.length > 0) say({ kind: 'citations', citations })
      if (refusal) say({ kind: 'refusal', text: refusal })
      for (const call of delta.tool_calls ?? []) readCall(call)
    },
    /** Writes what is left. Returns the finish reason, if there was one. */
    end: () => {
      for (const piece of waiting) {
        if ('kind' in piece) write(piece)
        else begin(piece)
      }
      return finishReason
    },
  }
}

/** Counts the length of an answer in `memory`. Throws a ProviderFailure for an answer without end. */
function lengthCounter(memory: Pick<MemoryHold, 'takeMore'>): (more: number) => void {
  let length = 0
  let counted = 0
  return (more) => {
    length += more
    if (length > textLengthMax) {
      throw new ProviderFailure('malformed', 'The answer is longer than any model writes.')
    }
    if (length - counted < stepLength) return
    // A character takes at most two bytes.
    if (memory.takeMore(2 * (length - counted)) !== undefined) {
      throw new ProviderFailure('no_memory', 'The gateway has no memory left for the answer.')
    }
    counted = length
  }
}

/** Whether the arguments of a call are whole: a JSON object cannot be continued. */
function isComplete({ isCustom, text }: OpenCall): boolean {
  if (isCustom) return true
  if (!text.trimEnd().endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
