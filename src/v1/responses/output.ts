import type { components } from '../../../generated/types.ts'
import type { ChatChunk } from '../../core/chat/chunks.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { inputArgument, type Tools } from './tools.ts'

type Schemas = components['schemas']
type Delta = NonNullable<NonNullable<NonNullable<ChatChunk['choices']>[number]>['delta']>
type CallDelta = NonNullable<Delta['tool_calls']>[number]
export type OutputItem = Schemas['ResponseOutputItem']
export type EventType = Schemas['ResponseEventType']
/** Writes an event; `members` are all but its type and number. */
export type Emit = (type: EventType, members: object) => void

type Options = {
  /** Ends the ids of the items; unique for each response. */
  suffix: string
  tools: Pick<Tools, 'find'>
  /** Writes a vendor's data of a call, so that the caller can send it back. */
  seal: (extra: Schemas['ToolCallExtraContent']) => string
  emit: Emit
}

/** Collects the items of an answer from its chunks, and emits their events in OpenAI's order. */
export type Output = {
  /** Throws a ProviderFailure for chunks that contradict each other. */
  read(chunk: ChatChunk): void
  /** Ends the last item, and returns all. */
  end(): { items: OutputItem[]; finishReason: string | undefined }
  /** What the vendor says of itself. */
  told: { model?: string; serviceTier?: string }
}

/** An item that is not complete; `end` completes it and emits its last events. */
type Open = {
  kind: 'reasoning' | 'text' | 'refusal' | 'call'
  /** The vendor's index of a call. */
  call?: number
  add(text: string): void
  end(status: Schemas['ResponseItemStatus'], sealed?: string): OutputItem
}

export function collectOutput({ suffix, tools, seal, emit }: Options): Output {
  const items: OutputItem[] = []
  const told: Output['told'] = {}
  const calls = new Set<number>()
  let open: Open | undefined
  let finishReason: string | undefined

  const close = (sealed?: string) => {
    if (open === undefined) return
    const isCut = finishReason === 'length' || finishReason === 'content_filter'
    const item = open.end(isCut ? 'incomplete' : 'completed', sealed)
    emit('response.output_item.done', { output_index: items.length, item })
    items.push(item)
    open = undefined
  }
  const begin = (next: (place: Place) => Open, sealed?: string): Open => {
    close(sealed)
    open = next({ index: items.length, suffix: `${suffix}${items.length}`, emit })
    return open
  }
  const say = (kind: 'reasoning' | 'text' | 'refusal', text: string | null | undefined) => {
    if (!text) return
    const item = open?.kind === kind ? open : begin(opening[kind])
    item.add(text)
  }
  const beginCall = (delta: CallDelta): Open => {
    const name = delta.function?.name ?? delta.custom?.name ?? ''
    calls.add(delta.index)
    const sealed = delta.extra_content === undefined ? undefined : seal(delta.extra_content)
    if (sealed !== undefined && open?.kind !== 'reasoning') begin(openReasoning)
    const id = delta.id ?? `call_${suffix}${items.length}`
    const called = { call: delta.index, callId: id, ...tools.find(name) }
    if (delta.custom !== undefined) return begin(openCustom(called), sealed)
    return begin(called.isCustom ? openWrapped(called) : openFunction(called), sealed)
  }
  const call = (delta: CallDelta) => {
    const known = open?.kind === 'call' && open.call === delta.index ? open : undefined
    if (known === undefined && calls.has(delta.index)) {
      throw new ProviderFailure('malformed', 'The pieces of two tool calls are mixed.')
    }
    const item = known ?? beginCall(delta)
    item.add(delta.function?.arguments ?? delta.custom?.input ?? '')
  }
  return {
    told,
    read: ({ model, service_tier: tier, choices = [] }) => {
      if (model !== undefined) told.model = model
      if (tier != null) told.serviceTier = tier
      for (const choice of choices) {
        const { delta, finish_reason: reason } = choice ?? {}
        say('reasoning', delta?.reasoning_content)
        say('text', delta?.content)
        say('refusal', delta?.refusal)
        for (const one of delta?.tool_calls ?? []) call(one)
        if (reason != null) finishReason = reason
      }
    },
    end: () => {
      close()
      return { items, finishReason }
    },
  }
}

type Place = { index: number; suffix: string; emit: Emit }
type Called = { call: number; callId: string; name: string; namespace?: string }

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

function openFunction({ call, callId, name, namespace }: Called) {
  return ({ index, suffix, emit }: Place): Open => {
    const id = `fc_${suffix}`
    const within = namespace === undefined ? {} : { namespace }
    const item = { id, type: 'function_call' as const, call_id: callId, name, ...within }
    const at = { item_id: id, output_index: index }
    let text = ''
    emit('response.output_item.added', {
      output_index: index,
      item: { ...item, arguments: '', status: 'in_progress' },
    })
    return {
      kind: 'call',
      call,
      add: (delta) => {
        text += delta
        if (delta !== '') emit('response.function_call_arguments.delta', { ...at, delta })
      },
      end: (status) => {
        emit('response.function_call_arguments.done', { ...at, name, arguments: text })
        return { ...item, arguments: text, status }
      },
    }
  }
}

function openCustom({ call, callId, name, namespace }: Called) {
  return ({ index, suffix, emit }: Place): Open => {
    const id = `ctc_${suffix}`
    const within = namespace === undefined ? {} : { namespace }
    const item = { id, type: 'custom_tool_call' as const, call_id: callId, name, ...within }
    const at = { item_id: id, output_index: index }
    let text = ''
    emit('response.output_item.added', {
      output_index: index,
      item: { ...item, input: '', status: 'in_progress' },
    })
    return {
      kind: 'call',
      call,
      add: (delta) => {
        text += delta
        if (delta !== '') emit('response.custom_tool_call_input.delta', { ...at, delta })
      },
      end: (status) => {
        emit('response.custom_tool_call_input.done', { ...at, input: text })
        return { ...item, input: text, status }
      },
    }
  }
}

/** A custom tool that the vendor got as a function: its input is inside of the JSON of the arguments. */
function openWrapped(called: Called) {
  return (place: Place): Open => {
    const custom = openCustom(called)(place)
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
