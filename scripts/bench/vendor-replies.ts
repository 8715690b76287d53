import { streamWords } from './replies.ts'
import type { Wire } from './workloads.ts'

// The same streams as those of replies.ts, in the words of vendors whose events are others.

const inputTokens = 120
const outputTokens = 200

/** The events of a stream as `count` pieces; what begins and ends it travels with its words. */
export const vendorPieces = (wire: Wire, count: number): Buffer[] =>
  (wire === 'anthropic' ? anthropicPieces(count) : geminiPieces(count)).map((piece) =>
    Buffer.from(piece),
  )

const anthropicPieces = (count: number): string[] => {
  const usage = { input_tokens: inputTokens, output_tokens: 1 }
  const pieces = streamWords(count).map((text) =>
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  )
  const message = {
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    model: 'bench',
    content: [],
    usage,
  }
  const start =
    named('message_start', { message }) +
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
  const end =
    named('content_block_stop', { index: 0 }) +
    named('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: outputTokens },
    }) +
    named('message_stop', {})
  pieces[0] = start + pieces[0]
  pieces[count - 1] += end
  return pieces
}

const named = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`

const geminiPieces = (count: number): string[] =>
  streamWords(count).map((text, index) => {
    const last = index === count - 1
    const answer = {
      candidates: [
        {
          content: { parts: [{ text }], role: 'model' },
          ...(last && { finishReason: 'STOP' }),
          index: 0,
        },
      ],
      usageMetadata: {
        promptTokenCount: inputTokens,
        candidatesTokenCount: last ? outputTokens : index,
        totalTokenCount: inputTokens + (last ? outputTokens : index),
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: inputTokens }],
      },
      modelVersion: 'bench',
      responseId: 'bench',
    }
    return `data: ${JSON.stringify(answer)}\r\n\r\n`
  })
