import type { components } from '../../../generated/types.ts'
import type { MemoryHold } from '../../bytes/memory-budget.ts'
import type { NativeAnswer } from '../../core/chat/chat.ts'
import type { ChatChunk } from '../../core/chat/chunks.ts'
import { orderedPieces } from '../../core/chat/ordered-pieces.ts'
import type { ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'
import { jsonObject } from '../../core/any-json.ts'

type Schemas = components['schemas']
export type MessageEvent = Schemas['MessageStreamEvent']
export type MessageStop = Schemas['MessageStop']
type ExtraContent = Schemas['ToolCallExtraContent']

type Options = {
  /** Whether the text of the reasoning is written. */
  showsThinking: boolean
  /** Writes a vendor's data of a call as the signature of a thinking block. */
  seal: Pick<ThoughtSeal, 'close'>
  memory: Pick<MemoryHold, 'takeMore'>
  /** The id of a call for which the vendor sent none. */
  callId: (index: number) => string
}

/** Translates chunks to the events of a message, without its first and last two events. */
export type MessageWriter = ReturnType<typeof messageWriter>

export function messageWriter({ showsThinking, seal, memory, callId }: Options) {
  const blocks = blockWriter(seal)
  let hasCalls = false
  let refusal = ''
  const pieces = orderedPieces(memory, (piece) => {
    switch (piece.kind) {
      case 'reasoning':
        if (showsThinking) blocks.write('thinking', piece.text)
        break
      case 'refusal':
        refusal += piece.text
        blocks.write('text', piece.text)
        break
      case 'text':
        blocks.write('text', piece.text)
        break
      case 'call': {
        const { index, id = callId(index), name, extra_content: data } = piece.call
        hasCalls = true
        blocks.call({ id, name }, data)
        break
      }
      case 'input':
        blocks.input(piece.text)
        break
      case 'search':
        blocks.search(piece.search)
        break
      case 'citations':
        blocks.cite(piece.citations)
    }
  })
  return {
    read: (chunk: ChatChunk) => {
      pieces.read(chunk)
      return blocks.take()
    },
    /** Closes the last block. Returns its events and the stop reason. */
    finish: () => {
      const reason = pieces.end()
      blocks.close()
      return { events: blocks.take(), stop: stopOf(reason, { hasCalls, refusal }) }
    },
  }
}

const reasons: Readonly<Record<string, Schemas['MessageStopReason']>> = {
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}

function stopOf(
  finish: string | undefined,
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

type Managed = Pick<Schemas['Message'], 'context_management'>

/** Why a message of the vendor ended. */
export function nativeEnd(answer: NativeAnswer): MessageStop & Managed {
  const { stop_reason, stop_sequence = null, stop_details = null } = answer
  const { context_management: managed } = answer
  // The vendor has the API of the caller.
  return {
    ...({ stop_reason, stop_sequence, stop_details } as MessageStop),
    ...(managed == null ? {} : { context_management: managed as Managed['context_management'] }),
  }
}

/**
 * Writes blocks with indexes without gaps, each closed before the next begins. A signature is never empty, since
 * some clients drop blocks without one.
 */
function blockWriter(seal: Options['seal']) {
  let events: MessageEvent[] = []
  let index = -1
  /** The text of the open block, and where it begins in the text of the answer. */
  let text = { text: '', start: 0 }
  let open: 'text' | 'thinking' | 'call' | undefined
  const start = (block: Schemas['MessageAnswerBlock']) => {
    index++
    events.push({ type: 'content_block_start', index, content_block: block })
  }
  const add = (delta: Schemas['MessageBlockDelta']) =>
    void events.push({ type: 'content_block_delta', index, delta })
  const close = (data: ExtraContent = {}) => {
    if (open === undefined) return
    if (open === 'thinking') add({ type: 'signature_delta', signature: seal.close(data) })
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
    open = kind
    if (kind === 'text') text = { text: '', start: text.start + text.text.length }
  }
  return {
    close,
    write: (kind: 'text' | 'thinking', piece: string) => {
      if (open !== kind) begin(kind)
      if (kind === 'thinking') return add({ type: 'thinking_delta', thinking: piece })
      text.text += piece
      add({ type: 'text_delta', text: piece })
    },
    search: (search: Schemas['WebSearch']) => {
      close()
      const { use, input, result } = searchBlocks(search, seal)
      start(use)
      add({ type: 'input_json_delta', partial_json: JSON.stringify(input) })
      events.push({ type: 'content_block_stop', index })
      start(result)
      events.push({ type: 'content_block_stop', index })
    },
    cite: (citations: readonly Schemas['WebCitation'][]) => {
      if (open !== 'text') return
      for (const citation of citationsOf(citations, text, seal)) {
        add({ type: 'citations_delta', citation })
      }
    },
    /** The data of the vendor becomes the signature of a thinking block before the call. */
    call: (call: { id: string; name: string }, data: ExtraContent | undefined) => {
      if (data !== undefined && open !== 'thinking') begin('thinking')
      close(data)
      start({ type: 'tool_use', ...call, input: {} })
      open = 'call'
    },
    input: (text: string) => add({ type: 'input_json_delta', partial_json: text }),
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
      if (block?.type === 'text') {
        block.text += delta.text ?? ''
        if (delta.citation !== undefined) (block.citations ??= []).push(delta.citation)
      } else if (block?.type === 'thinking') {
        block.thinking += delta.thinking ?? ''
        block.signature = delta.signature ?? block.signature ?? ''
      } else input += delta.partial_json ?? ''
    } else if (block?.type === 'tool_use' || block?.type === 'server_tool_use') {
      block.input = inputOf(input)
    }
  }
  return blocks
}

/** Arguments that are not an object are sent as Anthropic's clients send invalid JSON. */
function inputOf(text: string): Record<string, unknown> {
  return text.trim() === '' ? {} : (jsonObject(text) ?? { INVALID_JSON: text })
}

/** The blocks of a search of a vendor with another API, whose data Anthropic cannot read. */
function searchBlocks(
  { id, query, sources, error }: Schemas['WebSearch'],
  seal: Options['seal'],
): {
  use: Schemas['MessageServerToolUseBlock']
  input: { query: string }
  result: Schemas['MessageSearchedBlock']
} {
  const call = `srvtoolu_${id.replaceAll(/[^\w-]/g, '_')}`
  const results = sources.map((source) => ({
    type: 'web_search_result',
    ...source,
    encrypted_content: seal.close({}),
    page_age: null,
  }))
  const failed = { type: 'web_search_tool_result_error', error_code: 'unavailable' }
  const content = error === undefined ? results : failed
  return {
    use: { type: 'server_tool_use', id: call, name: 'web_search', input: {} },
    input: { query },
    result: { type: 'web_search_tool_result', tool_use_id: call, content },
  }
}

/** Anthropic quotes at most so many characters. */
const citedLengthMax = 150

/** The citations in a block with the text `text`, which begins at `start` of the answer. */
function citationsOf(
  citations: readonly Schemas['WebCitation'][],
  { text, start }: { text: string; start: number },
  seal: Options['seal'],
) {
  return citations.flatMap(({ url_citation: { start_index, end_index, url, title } }) => {
    const [from, to] = [start_index - start, end_index - start]
    if (from < 0 || to > text.length) return []
    const cited_text = text.slice(from, to).slice(0, citedLengthMax)
    const type = 'web_search_result_location'
    return [{ type, url, title, encrypted_index: seal.close({}), cited_text }]
  })
}
