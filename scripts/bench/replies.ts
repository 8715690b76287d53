import { createCipheriv } from 'node:crypto'
import { crc32 } from 'node:zlib'

// What the mock upstream says. The driver reads the same file, so it knows what a right answer is.

const completion = { id: 'chatcmpl-bench', created: 1_760_000_000, model: 'bench' }
const usage = { prompt_tokens: 120, completion_tokens: 200, total_tokens: 320 }

export const plainText = 'The quick brown fox jumps over the lazy dog. '.repeat(21)

export const plainReply = Buffer.from(
  JSON.stringify({
    ...completion,
    object: 'chat.completion',
    choices: [
      { index: 0, message: { role: 'assistant', content: plainText }, finish_reason: 'stop' },
    ],
    usage,
  }),
)

export const streamWords = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `word-${index} `)

/** The events of a stream as `count` pieces; what ends a stream travels with its last word. */
export const streamPieces = (count: number, includeUsage: boolean): Buffer[] => {
  const pieces = streamWords(count).map((content) => event([{ index: 0, delta: { content } }]))
  const finish = event([{ index: 0, delta: {}, finish_reason: 'stop' }])
  const usageEvent = includeUsage ? event([], { usage }) : ''
  pieces[count - 1] += `${finish}${usageEvent}data: [DONE]\n\n`
  return pieces.map((piece) => Buffer.from(piece))
}

const event = (choices: object[], rest = {}): string => {
  const chunk = { ...completion, object: 'chat.completion.chunk', choices, ...rest }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

/** A picture as base64 text of exactly `textBytes` characters: a real PNG header, then noise. */
export const pictureBase64 = (textBytes: number): string => {
  const header = pngHeader(1024, 1024)
  const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16))
  const body = noise.update(Buffer.alloc((textBytes / 4) * 3 - header.length))
  return Buffer.concat([header, body]).toString('base64')
}

const pngHeader = (width: number, height: number): Buffer => {
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const chunk = Buffer.alloc(25)
  chunk.writeUInt32BE(13, 0)
  chunk.write('IHDR', 4, 'latin1')
  chunk.writeUInt32BE(width, 8)
  chunk.writeUInt32BE(height, 12)
  chunk.set([8, 6, 0, 0, 0], 16)
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 21)), 21)
  return Buffer.concat([signature, chunk])
}

export const pictureReply = (textBytes: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      created: completion.created,
      data: [{ b64_json: pictureBase64(textBytes) }],
      usage: { input_tokens: 20, output_tokens: 4160, total_tokens: 4180 },
    }),
  )

export const pictureModels: Record<string, number> = {
  'image-64k': 64 * 1024,
  'image-1536k': 1536 * 1024,
  'image-8m': 8192 * 1024,
}
