import { pictureBase64, streamWords } from './replies.ts'
import type { Wire } from './workloads.ts'

// The streams and images of replies.ts in the formats of other vendors.

const inputTokens = 120
const outputTokens = 200
const pictureTokens = 1120

/** The events of a stream in `count` pieces; the first and last piece also have the opening and closing events. */
export const vendorPieces = (
  wire: Extract<Wire, 'anthropic' | 'gemini'>,
  count: number,
): Buffer[] =>
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

export const geminiPicture = (textBytes: number): Buffer => {
  const data = pictureBase64(textBytes)
  const parts = [{ inlineData: { mimeType: 'image/png', data } }]
  return json({
    candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      promptTokenCount: inputTokens,
      candidatesTokenCount: pictureTokens,
      totalTokenCount: inputTokens + pictureTokens,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: pictureTokens }],
    },
    modelVersion: 'bench',
    responseId: 'bench',
  })
}

/** DashScope answers with the URL of the picture, which the gateway fetches. */
export const dashscopePicture = (image: string): Buffer => {
  const message = { role: 'assistant', content: [{ image }] }
  return json({
    output: { choices: [{ finish_reason: 'stop', message }] },
    usage: { image_count: 1, width: 1024, height: 1024 },
    request_id: 'bench',
  })
}

export const arkPicture = (textBytes: number): Buffer =>
  json({
    model: 'bench',
    created: 1_760_000_000,
    data: [{ b64_json: pictureBase64(textBytes), size: '1024x1024' }],
    usage: { generated_images: 1, output_tokens: 4096, total_tokens: 4096 },
  })

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value))
