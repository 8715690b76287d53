import { usualCounts, type Spoken } from './spoken.ts'

/** Signature of all thinking blocks of the double. */
export const signature = 'EqQB'
const stopReasons = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/** A whole answer of the Messages API. */
export function message(
  { text, reasoning, calls = [], end = 'stop', counts }: Spoken,
  model: string,
) {
  const thinking = reasoning?.join('')
  return {
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    model,
    content: [
      ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature }]),
      ...(text === undefined ? [] : [{ type: 'text', text: text.join('') }]),
      ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
    ],
    stop_reason: stopReasons[end],
    stop_sequence: null,
    usage: usageOf(counts),
  }
}

function usageOf(counts = usualCounts) {
  const { input, output, cached = 0, written = 0, reasoning } = counts
  return {
    input_tokens: input - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: output,
    service_tier: 'standard',
    ...(reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
  }
}

/** Events of a streamed answer, in the vendor's format. */
export function anthropicEvents(spoken: Spoken, model: string): string[] {
  const { text, reasoning, calls = [], end = 'stop', counts } = spoken
  const usage = usageOf(counts)
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
    ...(text === undefined
      ? []
      : [
          {
            start: { type: 'text', text: '' },
            deltas: text.map((piece) => ({ type: 'text_delta', text: piece })),
          },
        ]),
    ...calls.map(({ id, name, args }) => ({
      start: { type: 'tool_use', id, name, input: {} },
      deltas: halves(Object.keys(args).length === 0 ? '' : JSON.stringify(args)).map(
        (partial_json) => ({ type: 'input_json_delta', partial_json }),
      ),
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
      usage: { output_tokens: usage.output_tokens },
    }),
    event('message_stop', {}),
  ]
}

function event(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2)
  return ['', text.slice(0, middle), text.slice(middle)]
}
