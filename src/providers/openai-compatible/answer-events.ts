import type { ChatCompletion } from '../../core/chat/chat.ts'

/** A whole answer as the events of a stream, for an upstream that does not stream though it was asked to. */
export function answerEvents({ choices, object: _object, ...answer }: ChatCompletion): Buffer {
  const chunk = (choice: object) => {
    const whole = { ...answer, object: 'chat.completion.chunk', choices: [choice] }
    return `data: ${JSON.stringify(whole)}\n\n`
  }
  const events = choices.flatMap(({ index, message, logprobs, finish_reason: reason }) => {
    const { tool_calls: calls, refusal, ...said } = message
    const delta = {
      ...said,
      ...(refusal == null ? {} : { refusal }),
      ...(calls && { tool_calls: calls.map((call, place) => ({ index: place, ...call })) }),
    }
    return [
      chunk({ index, delta, logprobs, finish_reason: null }),
      chunk({ index, delta: {}, finish_reason: reason }),
    ]
  })
  return Buffer.from(events.join(''))
}
