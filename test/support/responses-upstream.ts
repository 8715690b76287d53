import { hash } from 'node:crypto'
import type { Body } from './closed-chat/schema.ts'
import { clientMembers, encryptedFor, toolsIn } from './responses-schema.ts'
import { usualCounts, type Spoken } from './spoken.ts'
import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'

/** The id of an item as long as OpenAI's and Azure's are, another one for each answer of a conversation. */
export function itemId(prefix: string, place: number, { input = [] }: Body): string {
  return `${prefix}_${hash('sha256', JSON.stringify([prefix, place, input])).slice(0, 50)}`
}

/** The output items of an answer, in the vendor's format. */
function outputOf(spoken: Spoken, body: Body): Body[] {
  const { text, reasoning, calls = [], citations = [] } = spoken
  const annotations = citations.map(({ from, to, url, title }) => {
    return { type: 'url_citation', start_index: from, end_index: to, url, title }
  })
  const id = itemId('rs', 0, body)
  const [last] = (body['input'] as Body[] | undefined)?.slice(-1) ?? []
  if (last?.['type'] === 'compaction_trigger') {
    const made = itemId('cmp', 0, body)
    return [{ id: made, type: 'compaction', encrypted_content: encryptedFor(made) }]
  }
  return [
    ...(reasoning === undefined
      ? []
      : [{ type: 'reasoning', id, summary: [], encrypted_content: encryptedFor(id) }]),
    ...searchItems(spoken, body),
    ...(text === undefined
      ? []
      : [
          {
            type: 'message',
            id: itemId('msg', 0, body),
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text: text.join(''), annotations, logprobs: [] }],
          },
        ]),
    ...calls.map(({ id: call_id, name, args }, place) => {
      const called = { status: 'completed', call_id, ...nameIn(body, name) }
      const type = toolsIn(body).find((tool) => tool['type'] === name)?.['type']
      const member = clientMembers[String(type)]
      if (member !== undefined) {
        const made = { id: itemId('tsc', place, body), type: `${name}_call`, status: 'completed' }
        const searching = name === 'tool_search' ? { execution: 'client' } : {}
        return { ...made, call_id, ...searching, [member]: args }
      }
      const isCustom = toolsIn(body).some(
        (tool) => tool['type'] === 'custom' && tool['name'] === called.name,
      )
      return isCustom
        ? {
            type: 'custom_tool_call',
            id: itemId('ctc', place, body),
            ...called,
            input: inputOf(args),
          }
        : {
            type: 'function_call',
            id: itemId('fc', place, body),
            ...called,
            arguments: JSON.stringify(args),
          }
    }),
  ]
}

/** The searches, with their sources if the request includes them. */
function searchItems({ searches = [] }: Spoken, body: Body): Body[] {
  const isShown = ((body['include'] ?? []) as string[]).includes('web_search_call.action.sources')
  return searches.map(({ query, pages, error }, place) => {
    const sources = pages.map(({ url }) => ({ type: 'url', url }))
    const action = { type: 'search', query, queries: [query], ...(isShown ? { sources } : {}) }
    const status = error === undefined ? 'completed' : 'failed'
    return { id: itemId('ws', place, body), type: 'web_search_call', status, action }
  })
}

function inputOf(args: object): string {
  return 'input' in args ? String(args.input) : JSON.stringify(args)
}

/** The name of a tool as the model calls it: `namespace__name` apart, if the request has the namespace. */
function nameIn(body: Body, full: string): { name: string; namespace?: string } {
  const [namespace = '', name = ''] = full.split('__')
  const isKnown = toolsIn(body).some(
    (tool) => tool['type'] === 'namespace' && tool['name'] === namespace,
  )
  return isKnown ? { name, namespace } : { name: full }
}

const reasons: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

/** A whole answer. */
export function responseObject(spoken: Spoken, body: Body) {
  const { model, tools, store, service_tier: tier } = body
  const { input, output, cached = 0, written = 0, reasoning = 0 } = spoken.counts ?? usualCounts
  const reason = reasons[spoken.end ?? '']
  return {
    id: 'resp_up',
    object: 'response',
    created_at: 1_767_225_600,
    status: reason === undefined ? 'completed' : 'incomplete',
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    model,
    output: outputOf(spoken, body),
    tools,
    store,
    service_tier: tier ?? 'default',
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
  }
}

/** Events of a streamed answer, in the vendor's format. */
export function responseEvents(spoken: Spoken, body: Body): string[] {
  const whole = responseObject(spoken, body)
  const begun = { ...whole, status: 'in_progress', output: [], usage: null }
  const events: Body[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
  ]
  for (const [output_index, item] of whole.output.entries()) {
    const at = { output_index, item_id: item['id'] }
    const empty = {
      reasoning: {},
      message: { content: [] },
      function_call: { arguments: '' },
      custom_tool_call: { input: '' },
      web_search_call: { action: undefined },
      compaction: { encrypted_content: '' },
    }
    const added = { ...item, ...empty[item['type'] as 'message'], status: 'in_progress' }
    if (item['type'] === 'reasoning') delete (added as Body)['encrypted_content']
    events.push({ type: 'response.output_item.added', output_index, item: added })
    if (item['type'] === 'compaction') {
      delete (added as Body)['status']
      events.push({ type: 'response.compaction.compacting', ...at })
    }
    if (item['type'] === 'message') {
      const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
      const [whole] = item['content'] as { annotations: Body[] }[]
      const inPart = { ...at, content_index: 0 }
      events.push(
        { type: 'response.content_part.added', ...inPart, part },
        ...spoken.text!.map((delta) => {
          return { type: 'response.output_text.delta', ...inPart, delta, logprobs: [] }
        }),
        ...whole!.annotations.map((annotation, annotation_index) => {
          const type = 'response.output_text.annotation.added'
          return { type, ...inPart, annotation_index, annotation }
        }),
        { type: 'response.output_text.done', ...inPart, text: spoken.text!.join(''), logprobs: [] },
        { type: 'response.content_part.done', ...inPart, part: (item['content'] as Body[])[0] },
      )
    }
    if (item['type'] === 'web_search_call') {
      const states = ['in_progress', 'searching', 'completed']
      for (const state of item['status'] === 'completed' ? states : states.slice(0, 2)) {
        events.push({ type: `response.web_search_call.${state}`, ...at })
      }
    }
    if (item['type'] === 'function_call') {
      const { arguments: text } = item as { arguments: string }
      const half = Math.ceil(text.length / 2)
      const name = 'response.function_call_arguments'
      events.push(
        { type: `${name}.delta`, ...at, delta: text.slice(0, half) },
        { type: `${name}.delta`, ...at, delta: text.slice(half) },
        { type: `${name}.done`, ...at, name: item['name'], arguments: text },
      )
    }
    if (item['type'] === 'custom_tool_call') {
      const name = 'response.custom_tool_call_input'
      const { input } = item as { input: string }
      events.push(
        { type: `${name}.delta`, ...at, delta: input },
        { type: `${name}.done`, ...at, input },
      )
    }
    events.push({ type: 'response.output_item.done', output_index, item })
  }
  events.push({ type: `response.${whole.status}`, response: whole })
  return events.map((event, number) => eventText(event, number))
}

/** An event as the vendor sends it. */
export function eventText({ type, ...members }: Body, sequence_number = 0): string {
  const data = JSON.stringify({ type, sequence_number, ...members })
  return `event: ${String(type)}\ndata: ${data}\n\n`
}

type Play = (request: ReceivedRequest) => ScriptedAnswer

/** Answers with these output items. */
export function wholeResponse(output: object[], members: object = {}): Play {
  return ({ body }) => ({ body: { ...responseObject({}, body as Body), output, ...members } })
}

/** Answers with `response.created` and these events. */
export function streamedResponse(...events: Body[]): Play {
  return ({ body }) => {
    const begun = { ...responseObject({}, body as Body), status: 'in_progress', output: [] }
    return { pieces: [{ type: 'response.created', response: begun }, ...events].map(eventText) }
  }
}

/** The last event of a stream. */
export const completed: Body = { type: 'response.completed', response: responseObject({}, {}) }
