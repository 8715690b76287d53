import type { components } from '../../../generated/types.ts'
import type { MemoryHold } from '../../bytes/memory-budget.ts'
import type { ChatRequest, NativeAnswer } from '../../core/chat/chat.ts'
import type { ChatChunk } from '../../core/chat/chunks.ts'
import { orderedPieces, type CallHead, type Piece } from '../../core/chat/ordered-pieces.ts'
import { writeSummary } from './compaction.ts'
import type { Emit, Open, OutputItem, Place } from './item.ts'
import { openCall, opening, openWrapped, writeSearch } from './open-item.ts'
import type { Tools } from './tools.ts'

type Schemas = components['schemas']

/** A call of a tool that the gateway runs. */
export type HostedCall = Extract<Schemas['ToolCall'], { type: 'function' }>

/** The answer to one request of the model. */
export type Turn = {
  /** The answer with its calls of hosted tools only. */
  message: Extract<ChatRequest['messages'][number], { role: 'assistant' }>
  hosted: HostedCall[]
  /** Whether the model called tools of the caller. */
  callsOthers: boolean
}

type TurnState = {
  turn: Turn
  /** What follows the first hosted call, with the hosted calls. */
  waiting: (Piece | HostedCall)[]
}

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

/** A whole output, with what the vendor reports about it. */
export type Ended = {
  items: OutputItem[]
  finishReason: string | undefined
  model: string | undefined
  serviceTier: string | undefined
}

/** Collects the items of an answer from its chunks, and emits their events in OpenAI's order. */
export type Output = ReturnType<typeof collectOutput>

export function collectOutput(options: Options) {
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
    read: (chunk: ChatChunk) => {
      model = chunk.model ?? model
      serviceTier = chunk.service_tier ?? serviceTier
      pieces.read(chunk)
    },
    /**
     * Ends the answer to one request of the model: runs its hosted calls, then emits what follows them.
     * Undefined if the request has no hosted tool.
     */
    endTurn: async (run: Run) => {
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
    /** Takes the answer of a vendor that has this API, instead of chunks. */
    adopt: (ended: Ended) => void (adopted = ended),
    /** Ends the last item. */
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

function nothingSaid(): TurnState {
  return {
    turn: { message: { role: 'assistant', content: null }, hosted: [], callsOthers: false },
    waiting: [],
  }
}

/** Keeps what a model says in a turn; pieces from its first hosted call on wait for the end of the turn. */
function turnReader({ find }: Pick<Tools, 'find'>, suffix: string) {
  let said = nothingSaid()
  let called = 0
  let open: HostedCall | undefined
  let lost: CallHead['extra_content']

  const wait = (piece: Piece): boolean => {
    const { waiting } = said
    if (waiting.length === 0) return true
    waiting.push(piece)
    return false
  }
  const readCall = (call: CallHead): boolean => {
    const { id = `call_${suffix}_${called}`, name, extra_content: extra } = call
    called += 1
    open = undefined
    if (find(name).isHosted !== true) {
      said.turn.callsOthers = true
      // The vendor needs its data again at the first call that is sent back.
      const kept = lost === undefined ? call : { extra_content: lost, ...call }
      lost = undefined
      return wait({ kind: 'call', call: kept })
    }
    lost ??= extra
    const data = extra === undefined ? {} : { extra_content: extra }
    open = { id, type: 'function', function: { name, arguments: '' }, ...data }
    said.turn.hosted.push(open)
    said.waiting.push(open)
    return false
  }
  return {
    /** Returns whether the piece can be written at once. */
    read: (piece: Piece): boolean => {
      if (piece.kind === 'call') return readCall(piece.call)
      if (piece.kind === 'input' && open !== undefined) {
        open.function.arguments += piece.text
        return false
      }
      const { message } = said.turn
      const { content, reasoning_content: thought } = message
      if (piece.kind === 'text') {
        message.content = typeof content === 'string' ? content + piece.text : piece.text
      } else if (piece.kind === 'reasoning') {
        message.reasoning_content = (thought ?? '') + piece.text
      }
      return wait(piece)
    },
    end: (): TurnState => {
      const ended = said
      const { message, hosted } = ended.turn
      if (hosted.length > 0) message.tool_calls = hosted
      said = nothingSaid()
      open = undefined
      lost = undefined
      return ended
    },
  }
}
