import type { ScriptedAnswer } from './upstream.ts'

type Usage = Record<string, unknown>
type Options = {
  model?: string
  finish?: string
  /** Usage in the answer; null omits the usage. */
  usage?: Usage | null
}

const created = 1_767_225_600

/** Default token counts of an answer. */
export const usage: Usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }

/** A whole answer in OpenAI's format. */
export function completion(content: string, options: Options = {}): ScriptedAnswer {
  const { model = 'house-1', finish = 'stop' } = options
  const message = { role: 'assistant', content }
  const choices = [{ index: 0, message, finish_reason: finish }]
  const counted = options.usage === null ? {} : { usage: options.usage ?? usage }
  return {
    body: { id: 'chatcmpl-up', object: 'chat.completion', created, model, choices, ...counted },
  }
}

/** One event of a streamed answer. */
export function chunk(members: object, model = 'house-1'): string {
  const identity = { id: 'chatcmpl-up', object: 'chat.completion.chunk', created, model }
  return `data: ${JSON.stringify({ ...identity, ...members })}\n\n`
}

/** The first event of a stream in OpenAI's format. */
export const roleChunk = chunk({
  choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
})

/** The event that carries a piece of text. */
export function textChunk(content: string, members: object = {}): string {
  return chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }], ...members })
}

/** The event with the finish reason. */
export function finishChunk(finish = 'stop', members: object = {}): string {
  return chunk({ choices: [{ index: 0, delta: {}, finish_reason: finish }], ...members })
}

/** The event that carries only the token counts. */
export function usageChunk(counts: Usage = usage): string {
  return chunk({ choices: [], usage: counts })
}

export const doneEvent = 'data: [DONE]\n\n'

/** A whole streamed answer: a chunk per word, the counts and the end mark. */
export function streamed(words: readonly string[], options: Options = {}): ScriptedAnswer {
  const counted = options.usage === null ? [] : [usageChunk(options.usage)]
  const texts = words.map((word) => textChunk(word))
  return { pieces: [...texts, finishChunk(options.finish), ...counted, doneEvent] }
}

/** An error answer in OpenAI's format. */
export function refusal(
  status: number,
  code: string | null = null,
  headers: Record<string, string> = {},
): ScriptedAnswer {
  const error = { message: `No: ${status}.`, type: 'upstream', param: null, code }
  return { status, headers, body: { error } }
}
