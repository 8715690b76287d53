import { chunk, completion, doneEvent, finishChunk, textChunk } from './chat-answers.ts'
import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'

/** An event with an error. */
export function errorEvent(body: object | string): string {
  return `event: error\ndata: ${typeof body === 'string' ? body : JSON.stringify(body)}\n\n`
}

/** The first events of a stream in the vendor's format. */
export function firstEvents({ path }: ReceivedRequest): string[] {
  if (/generateContent/i.test(path)) return [data({ candidates: [{ content: parts('Fine.') }] })]
  if (!path.includes('/messages')) return [textChunk('Fine.'), textChunk('Fine.')]
  return [
    data({ type: 'message_start', message: { id: 'msg_1', model: 'c', usage: counts } }),
    data({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Fine.' } }),
  ]
}

/** The answer "Fine.", whole or streamed, with a secret in every member that may hold any text. */
export function oddAnswer(request: ReceivedRequest, said: string): ScriptedAnswer {
  const { path, body } = request
  const odd = { [said]: said, debug: { upstream: said, list: [said, { [said]: [said] }] } }
  if (/generateContent/i.test(path)) {
    const candidate = {
      content: parts('Fine.'),
      finishReason: 'SAFETY',
      finishMessage: said,
      ...odd,
    }
    const answer = { candidates: [candidate], responseId: said, modelVersion: said, ...odd }
    return path.includes('stream') ? { pieces: [data(answer)] } : { body: answer }
  }
  if (path.includes('/messages')) {
    const stop_details = { explanation: said, category: said }
    const usage = { ...counts, service_tier: said }
    const text = { type: 'text', text: 'Fine.', ...odd }
    const call = { type: 'tool_use', id: said, name: 'look', input: {}, ...odd }
    const ended = { stop_reason: 'refusal', stop_details, ...odd }
    const message = { id: said, model: said, usage, ...odd }
    if ((body as { stream?: boolean }).stream !== true) {
      return { body: { ...message, ...ended, type: 'message', content: [text, call] } }
    }
    return {
      pieces: [
        data({ type: 'message_start', message }),
        data({ type: 'content_block_start', index: 0, content_block: text, ...odd }),
        data({ type: 'content_block_start', index: 1, content_block: call }),
        data({ type: 'message_delta', delta: ended, usage }),
        data({ type: 'message_stop', ...odd }),
      ],
    }
  }
  const more = {
    id: said,
    model: said,
    system_fingerprint: said,
    service_tier: said,
    provider: said,
    warnings: [said],
    x_groq: { id: said },
    ...odd,
  }
  const calls = [{ index: 0, id: said, type: 'function', function: { name: 'f' }, ...odd }]
  const choice = { index: 0, finish_reason: null, native_finish_reason: said, ...odd }
  const spoken = { role: said, content: 'Fine.', ...odd }
  if ((body as { stream?: boolean }).stream === true) {
    const delta = (received: object) =>
      chunk({ choices: [{ ...choice, delta: received }], ...more })
    const first = delta({ ...spoken, tool_calls: calls })
    return { pieces: [first, delta(spoken), delta(spoken), finishChunk(said, more), doneEvent] }
  }
  const whole = completion('Fine.').body as object
  const message = { ...spoken, tool_calls: calls }
  return { body: { ...whole, ...more, choices: [{ ...choice, finish_reason: said, message }] } }
}

const counts = { input_tokens: 9, output_tokens: 4 }
const parts = (text: string) => ({ role: 'model', parts: [{ text }] })
const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`
