import type { components } from '../../../generated/types.ts'
import type { Hold } from '../../bytes/budget.ts'
import type { NativeAnswer } from '../../core/chat/chat.ts'
import type { ChatChunk } from '../../core/chat/chunks.ts'
import { orderedPieces, type BegunCall, type Piece } from '../../core/chat/ordered-pieces.ts'
import { inputArgument, type Tools } from './tools.ts'
import { turnReader, type HostedCall, type Turn } from './turn.ts'

type Schemas = components['schemas']
export type OutputItem = Schemas['ResponseOutputItem']
export type EventType = Schemas['ResponseEventType']
/** Writes an event; `members` are all but its type and number. */
export type Emit = (type: EventType, members: object) => void

type Options = {
  /** Ends the ids of the items; unique for each response. */
  suffix: string
  tools: Pick<Tools, 'find' | 'images'>
  /** Writes a vendor's data of a call, so that the caller can send it back. */
  seal: (extra: Schemas['ToolCallExtraContent']) => string
  emit: Emit
  /** The memory of the call. */
  hold: Pick<Hold, 'takeMore'>
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

/** An item that is not complete; `end` completes it and emits its last events. */
type Open = {
  kind: 'reasoning' | 'text' | 'refusal' | 'call'
  add(text: string): void
  end(status: Schemas['ResponseItemStatus'], sealed?: string): OutputItem
}

export function collectOutput({ suffix, tools, seal, emit, hold }: Options): Output {
  const items: OutputItem[] = []
  let [model, serviceTier]: (string | undefined)[] = []
  let open: Open | undefined
  let adopted: Ended | undefined
  let finishReason: string | undefined

  const isCut = () => finishReason === 'length' || finishReason === 'content_filter'
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
  const add = async (make: MakeItem) => {
    close()
    done(await make(place()))
  }
  const beginCall = ({ id, name, isCustom, extra_content: extra }: BegunCall) => {
    const sealed = extra === undefined ? undefined : seal(extra)
    if (sealed !== undefined && open?.kind !== 'reasoning') begin(opening.reasoning)
    const callId = id ?? `call_${suffix}${items.length}`
    const called = { callId, ...tools.find(name) }
    const opened = openCall(isCustom ? 'custom' : 'function', called)
    begin(!isCustom && called.isCustom ? openWrapped(called) : opened, sealed)
  }
  const write = (piece: Piece) => {
    if (piece.kind === 'call') return beginCall(piece.call)
    if (piece.kind !== 'input' && open?.kind !== piece.kind) begin(opening[piece.kind])
    open!.add(piece.text)
  }
  const turns = tools.images() === undefined ? undefined : turnReader(tools, suffix)
  const take = turns === undefined ? write : (piece: Piece) => turns.read(piece) && write(piece)
  let pieces = orderedPieces(hold, take)
  return {
    read: (chunk) => {
      model = chunk.model ?? model
      serviceTier = chunk.service_tier ?? serviceTier
      pieces.read(chunk)
    },
    endTurn: async (run) => {
      finishReason = pieces.end()
      pieces = orderedPieces(hold, take)
      const ended = turns?.end()
      if (ended === undefined) return undefined
      const { turn, waiting } = ended
      for (const piece of waiting) {
        if (!('function' in piece)) write(piece)
        // The arguments of a call that was cut off are incomplete.
        else if (!isCut()) await run(piece, add)
      }
      close()
      return turn
    },
    adopt: (ended) => void (adopted = ended),
    end: () => {
      finishReason = pieces.end() ?? finishReason
      close()
      return adopted ?? { items, finishReason, model, serviceTier }
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

/** Where an item begins. */
export type Place = { index: number; suffix: string; emit: Emit }
type Called = { callId: string; name: string; namespace?: string }

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
  const partOf = (text: string): Schemas['ResponseOutputPart'] =>
    kind === 'text'
      ? { type: 'output_text', text, annotations: [], logprobs: [] }
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

const callForms = {
  function: {
    type: 'function_call',
    prefix: 'fc',
    member: 'arguments',
    event: 'response.function_call_arguments',
  },
  custom: {
    type: 'custom_tool_call',
    prefix: 'ctc',
    member: 'input',
    event: 'response.custom_tool_call_input',
  },
} as const

function openCall(kind: keyof typeof callForms, { callId, name, namespace }: Called) {
  const { type, prefix, member, event } = callForms[kind]
  return ({ index, suffix, emit }: Place): Open => {
    const id = `${prefix}_${suffix}`
    const within = namespace === undefined ? {} : { namespace }
    const at = { item_id: id, output_index: index }
    let text = ''
    // The member fits the type, as the table above shows.
    const itemOf = (status: Schemas['ResponseItemStatus']) =>
      ({ id, type, call_id: callId, name, ...within, [member]: text, status }) as OutputItem
    emit('response.output_item.added', { output_index: index, item: itemOf('in_progress') })
    return {
      kind: 'call',
      add: (delta) => {
        text += delta
        if (delta !== '') emit(`${event}.delta`, { ...at, delta })
      },
      end: (status) => {
        const named = kind === 'function' ? { name } : {}
        emit(`${event}.done`, { ...at, ...named, [member]: text })
        return itemOf(status)
      },
    }
  }
}

/** A custom tool that the vendor got as a function: its input is inside of the JSON of the arguments. */
function openWrapped(called: Called) {
  return (place: Place): Open => {
    const custom = openCall('custom', called)(place)
    let json = ''
    return {
      ...custom,
      add: (delta) => {
        json += delta
      },
      end: (status) => {
        custom.add(inputIn(json))
        return custom.end(status)
      },
    }
  }
}

/** The input in the arguments of a wrapped custom tool; the arguments as they are if they have none. */
function inputIn(json: string): string {
  try {
    const input: unknown = Reflect.get(JSON.parse(json) as object, inputArgument)
    return typeof input === 'string' ? input : json
  } catch {
    return json
  }
}
