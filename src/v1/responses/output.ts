import type { components } from '../../../generated/types.ts'
import type { MemoryHold } from '../../bytes/memory-budget.ts'
import type { NativeAnswer } from '../../core/chat/chat.ts'
import type { ChatChunk } from '../../core/chat/chunks.ts'
import { orderedPieces, type CallHead, type Piece } from '../../core/chat/ordered-pieces.ts'
import { writeSummary } from './compaction.ts'
import type { Emit, Open, OutputItem, Place } from './item.ts'
import { openCall, openWrapped } from './open-call.ts'
import type { Tools } from './tools.ts'
import { annotationsOf, writeSearch, type Annotation } from './searches.ts'
import { turnReader, type HostedCall, type Turn } from './turn.ts'

type Schemas = components['schemas']

type Options = {
  /** Ends the ids of the items; unique for each response. */
  suffix: string
  tools: Pick<Tools, 'find' | 'images'>
  /** Whether the answer is a summary of the conversation. */
  compacts: boolean
  /** Whether the sources of a search are in its item. */
  showsSources: boolean
  /** Writes a vendor's data of a call, so that the caller can send it back. */
  seal: (extra: Schemas['ToolCallExtraContent']) => string
  emit: Emit
  /** The memory of the call. */
  memory: Pick<MemoryHold, 'takeMore'>
}

/** Runs a call; `add` adds an item at its place, with the events that `make` emits. */
type Run = (call: HostedCall, add: (make: MakeItem) => Promise<void>) => Promise<void>
export type MakeItem = (place: Place) => Promise<OutputItem>

/** Collects the items of an answer from its chunks, and emits their events in OpenAI's order. */
export type Output = {
  read(chunk: ChatChunk): void
  /**
   * Ends the answer to one request of the model: runs its hosted calls, then emits what follows them.
   * Undefined if the request has no hosted tool.
   */
  endTurn(run: Run): Promise<Turn | undefined>
  /** Takes the answer of a vendor that has this API, instead of chunks. */
  adopt(ended: Ended): void
  /** Ends the last item. */
  end(): Ended
}

/** A whole output, with what the vendor reports about it. */
export type Ended = {
  items: OutputItem[]
  finishReason: string | undefined
  model: string | undefined
  serviceTier: string | undefined
}

export function collectOutput(options: Options): Output {
  const { suffix, tools, compacts, seal, memory } = options
  let [model, serviceTier]: (string | undefined)[] = []
  let adopted: Ended | undefined
  let finishReason: string | undefined
  const isCut = () => finishReason === 'length' || finishReason === 'content_filter'
  const { items, write, put, add, close, restart } = itemWriter(options, isCut)
  let summary = ''
  const sumUp = (piece: Piece) => {
    if (piece.kind === 'text') summary += piece.text
  }
  const turns = tools.images() === undefined ? undefined : turnReader(tools, suffix)
  const said = compacts ? sumUp : write
  const take = turns === undefined ? said : (piece: Piece) => turns.read(piece) && write(piece)
  let pieces = orderedPieces(memory, take)
  return {
    read: (chunk) => {
      model = chunk.model ?? model
      serviceTier = chunk.service_tier ?? serviceTier
      pieces.read(chunk)
    },
    endTurn: async (run) => {
      finishReason = pieces.end()
      pieces = orderedPieces(memory, take)
      const ended = turns?.end()
      if (ended === undefined) return undefined
      const { turn, waiting } = ended
      for (const piece of waiting) {
        if (!('function' in piece)) write(piece)
        // The arguments of a call that was cut off are incomplete.
        else if (!isCut()) await run(piece, add)
      }
      close()
      restart()
      return turn
    },
    adopt: (ended) => void (adopted = ended),
    end: () => {
      if (adopted !== undefined) return adopted
      finishReason = pieces.end() ?? finishReason
      close()
      // A part of a summary would lose the rest of the conversation.
      if (compacts && !isCut()) put((place) => writeSummary(summary, place, seal))
      return { items, finishReason, model, serviceTier }
    },
  }
}

/** Writes the pieces of an answer as items, each of which ends before the next begins. */
function itemWriter({ suffix, tools, showsSources, seal, emit }: Options, isCut: () => boolean) {
  const items: OutputItem[] = []
  let open: Open | undefined
  /** The length of the text of the answer, and where its open message begins. */
  let [said, start] = [0, 0]

  const done = (item: OutputItem) => {
    emit('response.output_item.done', { output_index: items.length, item })
    items.push(item)
  }
  const close = (sealed?: string) => {
    const item = open?.end(isCut() ? 'incomplete' : 'completed', sealed)
    open = undefined
    if (item !== undefined) done(item)
  }
  const place = (): Place => ({ index: items.length, suffix: `${suffix}${items.length}`, emit })
  const begin = (next: (place: Place) => Open, sealed?: string) => {
    close(sealed)
    open = next(place())
  }
  const beginCall = ({ id, name, isCustom, extra_content: extra }: CallHead) => {
    const sealed = extra === undefined ? undefined : seal(extra)
    if (sealed !== undefined && open?.kind !== 'reasoning') begin(opening.reasoning)
    const callId = id ?? `call_${suffix}${items.length}`
    const called = { callId, ...tools.find(name) }
    const isWrapped = called.client !== undefined || (called.isCustom && !isCustom)
    const kind = isCustom ? 'custom' : 'function'
    begin(isWrapped ? openWrapped(called) : openCall(kind, called), sealed)
  }
  return {
    items,
    close,
    /** Called before the next answer of the model. */
    restart: () => void (said = 0),
    put: (make: (place: Place) => OutputItem) => done(make(place())),
    add: async (make: MakeItem) => {
      close()
      done(await make(place()))
    },
    write: (piece: Piece) => {
      if (piece.kind === 'call') return beginCall(piece.call)
      if (piece.kind === 'citations') return open?.cite?.(piece.citations, start)
      if (piece.kind === 'search') {
        close()
        return done(writeSearch(piece.search, place(), showsSources))
      }
      if (piece.kind !== 'input' && open?.kind !== piece.kind) {
        start = said
        begin(opening[piece.kind])
      }
      if (piece.kind === 'text') said += piece.text.length
      open!.add(piece.text)
    },
  }
}

/** The output of a vendor that has this API. */
export function nativeOutput(
  { output, service_tier: tier }: NativeAnswer,
  model: string,
  finishReason: string | null,
): Ended {
  // The vendor has the types of this API.
  const [items, serviceTier] = [output as OutputItem[], tier as string | undefined]
  return { items, finishReason: finishReason ?? undefined, model, serviceTier }
}

function openReasoning({ index, suffix, emit }: Place): Open {
  const id = `rs_${suffix}`
  const at = { item_id: id, output_index: index, summary_index: 0 }
  let text = ''
  emit('response.output_item.added', {
    output_index: index,
    item: { id, type: 'reasoning', summary: [], encrypted_content: null },
  })
  return {
    kind: 'reasoning',
    add: (delta) => {
      if (text === '') {
        emit('response.reasoning_summary_part.added', {
          ...at,
          part: { type: 'summary_text', text },
        })
      }
      text += delta
      emit('response.reasoning_summary_text.delta', { ...at, delta })
    },
    end: (_status, sealed) => {
      const part = { type: 'summary_text' as const, text }
      if (text !== '') {
        emit('response.reasoning_summary_text.done', { ...at, text })
        emit('response.reasoning_summary_part.done', { ...at, part })
      }
      const summary = text === '' ? [] : [part]
      return { id, type: 'reasoning', summary, encrypted_content: sealed ?? null }
    },
  }
}

/** A message with one part. */
function openMessage(kind: 'text' | 'refusal', { index, suffix, emit }: Place): Open {
  const id = `msg_${suffix}`
  const at = { item_id: id, output_index: index, content_index: 0 }
  const [event, more] =
    kind === 'text'
      ? (['response.output_text', { logprobs: [] }] as const)
      : (['response.refusal', {}] as const)
  const annotations: Annotation[] = []
  const partOf = (text: string): Schemas['ResponseOutputPart'] =>
    kind === 'text'
      ? { type: 'output_text', text, annotations: [...annotations], logprobs: [] }
      : { type: 'refusal', refusal: text }
  let text = ''
  const item = { id, type: 'message' as const, role: 'assistant' as const }
  emit('response.output_item.added', {
    output_index: index,
    item: { ...item, status: 'in_progress', content: [] },
  })
  emit('response.content_part.added', { ...at, part: partOf('') })
  return {
    kind,
    add: (delta) => {
      text += delta
      emit(`${event}.delta`, { ...at, delta, ...more })
    },
    cite: (citations, start) => {
      for (const annotation of annotationsOf(citations, start, text.length)) {
        emit('response.output_text.annotation.added', {
          ...at,
          annotation_index: annotations.length,
          annotation,
        })
        annotations.push(annotation)
      }
    },
    end: (status) => {
      const part = partOf(text)
      emit(`${event}.done`, { ...at, ...(kind === 'text' ? { text } : { refusal: text }), ...more })
      emit('response.content_part.done', { ...at, part })
      return { ...item, status, content: [part] }
    },
  }
}

const opening = {
  reasoning: openReasoning,
  text: (place: Place) => openMessage('text', place),
  refusal: (place: Place) => openMessage('refusal', place),
}
