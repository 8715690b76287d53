import { usualCounts, type Page, type Spoken } from './spoken.ts'

/** Signature of all thinking blocks of the double. */
export const signature = 'EqQB'
const stopReasons = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/** The vendor's data of a page that it has found, and of a citation of it. */
export const foundContent = (url: string) => `EqgfCioI-${url}`
export const foundIndex = (url: string) => `Eo8BCioI-${url}`

type Block = Record<string, unknown>

/** The blocks of the searches, each with its result. */
function searchBlocks({ searches = [] }: Spoken): Block[] {
  return searches.flatMap(({ query, pages, error }, place) => {
    const id = `srvtoolu_0${place}`
    const content =
      error === undefined
        ? pages.map(({ url, title }) => {
            const encrypted_content = foundContent(url)
            return { type: 'web_search_result', url, title, encrypted_content, page_age: null }
          })
        : { type: 'web_search_tool_result_error', error_code: error }
    return [
      { type: 'server_tool_use', id, name: 'web_search', input: { query } },
      { type: 'web_search_tool_result', tool_use_id: id, content },
    ]
  })
}

/** The text in blocks, of which one is for each cited part. */
function textBlocks({ text, citations = [] }: Spoken): Block[] {
  if (text === undefined) return []
  const whole = text.join('')
  const plain = (part: string) => (part === '' ? [] : [{ type: 'text', text: part }])
  let at = 0
  const blocks = citations.flatMap(({ from, to, ...page }) => {
    const before = plain(whole.slice(at, from))
    at = to
    return [...before, { type: 'text', text: whole.slice(from, to), citations: [cited(page)] }]
  })
  return [...blocks, ...plain(whole.slice(at))]
}

function cited({ url, title }: Page) {
  const type = 'web_search_result_location'
  return { type, url, title, encrypted_index: foundIndex(url), cited_text: 'As found.' }
}

/** A whole answer of the Messages API. */
export function message(spoken: Spoken, model: string) {
  const { reasoning, calls = [], end = 'stop' } = spoken
  const thinking = reasoning?.join('')
  return {
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    model,
    content: [
      ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature }]),
      ...searchBlocks(spoken),
      ...textBlocks(spoken),
      ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
    ],
    stop_reason: stopReasons[end],
    stop_sequence: null,
    usage: usageOf(spoken),
  }
}

function usageOf({ counts = usualCounts, searches }: Spoken) {
  const charged = searches?.filter(({ error }) => error === undefined).length
  const { input, output, cached = 0, written = 0, reasoning } = counts
  return {
    input_tokens: input - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: output,
    service_tier: 'standard',
    ...(reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
    ...(charged === undefined ? {} : { server_tool_use: { web_search_requests: charged } }),
  }
}

/** Events of a streamed answer, in the vendor's format. */
export function anthropicEvents(spoken: Spoken, model: string): string[] {
  const { text, reasoning, calls = [], end = 'stop', counts } = spoken
  const usage = usageOf(spoken)
  const pieces = spoken.citations === undefined ? text : undefined
  const blocks = [
    ...(reasoning === undefined
      ? []
      : [
          {
            start: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              ...reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })),
              { type: 'signature_delta', signature },
            ],
          },
        ]),
    ...searchBlocks(spoken).map((block) =>
      block['type'] === 'server_tool_use'
        ? { start: { ...block, input: {} }, deltas: inputDeltas(block['input'] as object) }
        : { start: block, deltas: [] },
    ),
    ...(pieces === undefined
      ? textBlocks(spoken).map(({ text: said, citations = [] }) => ({
          start: { type: 'text', text: '', citations: [] },
          deltas: [
            { type: 'text_delta', text: said },
            ...(citations as object[]).map((citation) => ({ type: 'citations_delta', citation })),
          ],
        }))
      : [
          {
            start: { type: 'text', text: '' },
            deltas: pieces.map((piece) => ({ type: 'text_delta', text: piece })),
          },
        ]),
    ...calls.map(({ id, name, args }) => ({
      start: { type: 'tool_use', id, name, input: {} },
      deltas: inputDeltas(args),
    })),
  ]
  const head = { ...message({ counts: counts ?? usualCounts }, model), content: [] }
  return [
    event('message_start', {
      message: { ...head, stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    }),
    ...blocks.flatMap(({ start, deltas }, index) => [
      event('content_block_start', { index, content_block: start }),
      ...(index === 0 ? [event('ping', {})] : []),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', {
      delta: { stop_reason: stopReasons[end], stop_sequence: null },
      usage: {
        output_tokens: usage.output_tokens,
        ...('server_tool_use' in usage ? { server_tool_use: usage.server_tool_use } : {}),
      },
    }),
    event('message_stop', {}),
  ]
}

function event(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
}

function inputDeltas(args: object) {
  const text = Object.keys(args).length === 0 ? '' : JSON.stringify(args)
  return halves(text).map((partial_json) => ({ type: 'input_json_delta', partial_json }))
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2)
  return ['', text.slice(0, middle), text.slice(middle)]
}
