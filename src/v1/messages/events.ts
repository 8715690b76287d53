import type { components } from '../../../generated/types.ts'
import type { ChatChunk } from '../../core/chat/chunks.ts'
import type { ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'

type Schemas = components['schemas']
export type MessageEvent = Schemas['MessageStreamEvent']
export type MessageStop = Schemas['MessageStop']
type Delta = NonNullable<NonNullable<NonNullable<ChatChunk['choices']>[number]>['delta']>
type CallDelta = NonNullable<NonNullable<Delta['tool_calls']>[number]>
type ExtraContent = Schemas['ToolCallExtraContent']
type Call = {
  index: number
  id: string
  name: string
  text: string
  data?: ExtraContent | undefined
}
/** A piece of the answer that waits until the open tool call is complete. */
type Waiting = { kind: 'text' | 'thinking'; text: string } | { kind: 'call'; call: Call }
type Open = { kind: 'text' | 'thinking' } | { kind: 'call'; call: Call }

/** Translates chunks to the events of a message, without its first and last two events. */
export type MessageWriter = {
  read(chunk: ChatChunk): MessageEvent[]
  /** Closes the last block. */
  finish(): MessageEvent[]
  /** Why the message ended. */
  stop(): MessageStop
}
type Options = {
  /** Whether the text of the reasoning is written. */
  showsThinking: boolean
  /** Writes a vendor's data of a call as the signature of a thinking block. */
  seal: Pick<ThoughtSeal, 'close'>
  /** The id of a call for which the vendor sent none. */
  callId: (index: number) => string
}

/** Blocks of a message come one after another, so pieces of two calls at once are put in order. */
export function messageWriter({ showsThinking, seal, callId }: Options): MessageWriter {
  const blocks = blockWriter(seal)
  const calls = new Map<number, Call>()
  let waiting: Waiting[] = []
  let refusal = ''
  let finish: string | null = null

  /** Whether a piece must wait, since the open tool call is not complete. */
  const mustWait = () => {
    const open = blocks.open()
    return waiting.length > 0 || (open?.kind === 'call' && !isComplete(open.call.text))
  }
  const say = (kind: 'text' | 'thinking', text: string) => {
    if (mustWait()) waiting.push({ kind, text })
    else blocks.write(kind, text)
  }
  const readCall = ({ index, id, function: called, extra_content: data }: CallDelta) => {
    const text = called?.arguments ?? ''
    const known = calls.get(index)
    if (known !== undefined) {
      const open = blocks.open()
      const isOpen = open?.kind === 'call' && open.call === known
      const isWritten = isComplete(known.text)
      known.text += text
      if (isOpen && !isWritten) blocks.input(text)
      return
    }
    const call = { index, id: id ?? callId(index), name: called?.name ?? '', text, data }
    calls.set(index, call)
    if (mustWait()) waiting.push({ kind: 'call', call })
    else blocks.call(call)
  }
  return {
    read: ({ choices }) => {
      const { delta, finish_reason: reason } = choices?.[0] ?? {}
      finish = reason ?? finish
      if (delta === undefined) return []
      if (delta.reasoning_content && showsThinking) say('thinking', delta.reasoning_content)
      if (delta.content) say('text', delta.content)
      if (delta.refusal) {
        refusal += delta.refusal
        say('text', delta.refusal)
      }
      for (const call of delta.tool_calls ?? []) readCall(call)
      return blocks.take()
    },
    finish: () => {
      for (const piece of waiting) {
        if (piece.kind === 'call') blocks.call(piece.call)
        else blocks.write(piece.kind, piece.text)
      }
      waiting = []
      blocks.close()
      return blocks.take()
    },
    stop: () => stopOf(finish, { hasCalls: calls.size > 0, refusal }),
  }
}

/** Whether the arguments of a call are whole: a JSON object cannot be continued. */
function isComplete(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const reasons: Readonly<Record<string, Schemas['MessageStopReason']>> = {
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}

function stopOf(
  finish: string | null,
  { hasCalls, refusal }: { hasCalls: boolean; refusal: string },
): MessageStop {
  const usual = hasCalls ? 'tool_use' : 'end_turn'
  const reason = refusal === '' ? (reasons[finish ?? ''] ?? usual) : 'refusal'
  const explanation = refusal === '' ? null : refusal
  return {
    stop_reason: reason,
    stop_sequence: null,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation } : null,
  }
}

/**
 * Writes blocks with indexes without gaps, each closed before the next begins. A signature is never empty, since
 * some clients drop blocks without one.
 */
function blockWriter(seal: Options['seal']) {
  let events: MessageEvent[] = []
  let index = -1
  let open: Open | undefined
  const start = (block: Schemas['MessageAnswerBlock']) => {
    index++
    events.push({ type: 'content_block_start', index, content_block: block })
  }
  const add = (delta: Schemas['MessageBlockDelta']) =>
    void events.push({ type: 'content_block_delta', index, delta })
  const close = (data: ExtraContent = {}) => {
    if (open === undefined) return
    if (open.kind === 'thinking') add({ type: 'signature_delta', signature: seal.close(data) })
    events.push({ type: 'content_block_stop', index })
    open = undefined
  }
  const begin = (kind: 'text' | 'thinking') => {
    close()
    start(
      kind === 'text'
        ? { type: 'text', text: '' }
        : { type: 'thinking', thinking: '', signature: '' },
    )
    open = { kind }
  }
  return {
    open: () => open,
    close,
    write: (kind: 'text' | 'thinking', text: string) => {
      if (open?.kind !== kind) begin(kind)
      add(
        kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text },
      )
    },
    /** The data of the vendor becomes the signature of a thinking block before the call. */
    call: (call: Call) => {
      if (call.data !== undefined && open?.kind !== 'thinking') begin('thinking')
      close(call.data)
      start({ type: 'tool_use', id: call.id, name: call.name, input: {} })
      open = { kind: 'call', call }
      if (call.text !== '') add({ type: 'input_json_delta', partial_json: call.text })
    },
    input: (text: string) => {
      if (text !== '') add({ type: 'input_json_delta', partial_json: text })
    },
    take: () => {
      const taken = events
      events = []
      return taken
    },
  }
}

/** The blocks of a whole message, from its events. */
export function blocksOf(events: readonly MessageEvent[]): Schemas['MessageAnswerBlock'][] {
  const blocks: Schemas['MessageAnswerBlock'][] = []
  let input = ''
  for (const event of events) {
    const block = blocks.at(-1)
    if (event.type === 'content_block_start') {
      blocks.push({ ...event.content_block })
      input = ''
    } else if (event.type === 'content_block_delta') {
      const { delta } = event
      if (block?.type === 'text') block.text += delta.text ?? ''
      else if (block?.type === 'thinking') {
        block.thinking += delta.thinking ?? ''
        block.signature = delta.signature ?? block.signature ?? ''
      } else input += delta.partial_json ?? ''
    } else if (block?.type === 'tool_use') block.input = inputOf(input)
  }
  return blocks
}

/** Arguments that are not an object are sent as Anthropic's clients send invalid JSON. */
function inputOf(text: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    // A JSON object is a record of unknown values.
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : { INVALID_JSON: text }
  } catch {
    return { INVALID_JSON: text }
  }
}
