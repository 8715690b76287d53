import type { components } from '../../../generated/types.ts'
import { jsonObject } from '../../core/any-json.ts'
import { writeClientCall, type ClientToolType } from './client-tools.ts'
import { itemPrefixes, type Open, type OutputItem, type Place } from './item.ts'
import { inputArgument } from './tools.ts'

type Schemas = components['schemas']
type Called = { callId: string; name: string; namespace?: string }

const callForms = {
  function: { type: 'function_call', member: 'arguments', event: 'function_call_arguments' },
  custom: { type: 'custom_tool_call', member: 'input', event: 'custom_tool_call_input' },
} as const

/** Begins the item of a call. */
export function openCall(kind: keyof typeof callForms, { callId, name, namespace }: Called) {
  const { type, member, event } = callForms[kind]
  return ({ index, suffix, emit }: Place): Open => {
    const id = `${itemPrefixes[type]}_${suffix}`
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
        if (delta !== '') emit(`response.${event}.delta`, { ...at, delta })
      },
      end: (status) => {
        const named = kind === 'function' ? { name } : {}
        emit(`response.${event}.done`, { ...at, ...named, [member]: text })
        return itemOf(status)
      },
    }
  }
}

/**
 * Begins the item of a tool that the vendor got as a function. A call whose arguments are not those of the tool
 * is the call of a function, which the client refuses to the model.
 */
export function openWrapped({ client, ...called }: Called & { client?: ClientToolType }) {
  return (place: Place): Open => {
    const custom = client === undefined ? openCall('custom', called)(place) : undefined
    let json = ''
    return {
      kind: 'call',
      add: (delta) => void (json += delta),
      end: (status) => {
        const item = client && writeClientCall(client, { ...called, json }, place)
        if (item !== undefined) return item
        const call = custom ?? openCall('function', called)(place)
        call.add(custom === undefined ? json : inputIn(json))
        return call.end(status)
      },
    }
  }
}

/** The input in the arguments of a wrapped custom tool; the unchanged arguments if they have none. */
function inputIn(json: string): string {
  const input = jsonObject(json)?.[inputArgument]
  return typeof input === 'string' ? input : json
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

/** Begins the item of a piece of text. */
export const opening = {
  reasoning: openReasoning,
  text: (place: Place) => openMessage('text', place),
  refusal: (place: Place) => openMessage('refusal', place),
}

/** A source of a text in the form of this API. */
type Annotation = { type: 'url_citation' } & Schemas['WebCitation']['url_citation']

/** The sources of a text of `length` that begins at `start` of the answer, with places in this text. */
function annotationsOf(
  citations: readonly Schemas['WebCitation'][],
  start: number,
  length: number,
): Annotation[] {
  return citations.flatMap(({ type, url_citation: { start_index, end_index, ...source } }) => {
    const [from, to] = [start_index - start, end_index - start]
    return from < 0 || to > length ? [] : { type, start_index: from, end_index: to, ...source }
  })
}

/** Emits the events of a search of the vendor but the last. Returns its item. */
export function writeSearch(
  { query, sources, error }: Schemas['WebSearch'],
  { index, suffix, emit }: Place,
  showsSources: boolean,
): OutputItem {
  const id = `ws_${suffix}`
  const at = { item_id: id, output_index: index }
  const action = {
    type: 'search',
    query,
    queries: [query],
    ...(showsSources ? { sources: sources.map(({ url }) => ({ type: 'url', url })) } : {}),
  }
  const item = { id, type: 'web_search_call' as const, action }
  emit('response.output_item.added', {
    output_index: index,
    item: { ...item, status: 'in_progress' },
  })
  emit('response.web_search_call.in_progress', at)
  emit('response.web_search_call.searching', at)
  if (error === undefined) emit('response.web_search_call.completed', at)
  return { ...item, status: error === undefined ? 'completed' : 'failed' }
}
