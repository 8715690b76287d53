import type { ChatChunk } from './chunks.ts'

type Delta = NonNullable<NonNullable<NonNullable<ChatChunk['choices']>[number]>['delta']>
type CallDelta = NonNullable<Delta['tool_calls']>[number]

/** A tool call of an answer as it begins. */
export type BegunCall = Pick<CallDelta, 'index' | 'id' | 'extra_content'> & {
  name: string
  isCustom: boolean
}
/** A piece of an answer; `input` belongs to the call that began last. */
export type Piece =
  | { kind: 'reasoning' | 'text' | 'refusal' | 'input'; text: string }
  | { kind: 'call'; call: BegunCall }

/** Reads the chunks of an answer with one choice. */
export type PieceReader = {
  read(chunk: ChatChunk): void
  /** Writes what is left. Returns the finish reason, if there was one. */
  end(): string | undefined
}

type KnownCall = BegunCall & { text: string }
type Waiting = { kind: 'reasoning' | 'text' | 'refusal'; text: string } | KnownCall

/**
 * Writes the pieces of an answer for APIs in which an item ends before the next begins: what arrives before
 * a call is complete waits for the end of the answer.
 */
export function orderedPieces(write: (piece: Piece) => void): PieceReader {
  const calls = new Map<number, KnownCall>()
  const waiting: Waiting[] = []
  let open: KnownCall | undefined
  let finishReason: string | undefined

  const mustWait = () => waiting.length > 0 || (open !== undefined && !isComplete(open))
  const writeInput = (text: string) => {
    if (text !== '') write({ kind: 'input', text })
  }
  const begin = (call: KnownCall) => {
    open = call
    write({ kind: 'call', call })
    writeInput(call.text)
  }
  const say = (kind: 'reasoning' | 'text' | 'refusal', text: string | null | undefined) => {
    if (!text) return
    if (mustWait()) {
      waiting.push({ kind, text })
      return
    }
    open = undefined
    write({ kind, text })
  }
  const readCall = (delta: CallDelta) => {
    const { index, id, function: called, custom, extra_content } = delta
    const text = called?.arguments ?? custom?.input ?? ''
    const known = calls.get(index)
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
    read: ({ choices }) => {
      const { delta, finish_reason: reason } = choices?.[0] ?? {}
      finishReason = reason ?? finishReason
      say('reasoning', delta?.reasoning_content)
      say('text', delta?.content)
      say('refusal', delta?.refusal)
      for (const call of delta?.tool_calls ?? []) readCall(call)
    },
    end: () => {
      for (const piece of waiting) {
        if ('kind' in piece) write(piece)
        else begin(piece)
      }
      return finishReason
    },
  }
}

/** Whether the arguments of a call are whole: a JSON object cannot be continued. */
function isComplete({ isCustom, text }: KnownCall): boolean {
  if (isCustom) return true
  if (!text.trimEnd().endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
