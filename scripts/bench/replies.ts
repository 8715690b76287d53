import { createCipheriv } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'

// The answers of the mock upstream. The driver compares received answers with these.

const completion = { id: 'chatcmpl-bench', created: 1_760_000_000, model: 'bench' }
const usage = { prompt_tokens: 120, completion_tokens: 200, total_tokens: 320 }

export const plainText = 'The quick brown fox jumps over the lazy dog. '.repeat(21)

export const plainReply = Buffer.from(
  JSON.stringify({
    ...completion,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: plainText, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage,
  }),
)

export const streamWords = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `word-${index} `)

/** The events of a stream in `count` pieces. The last piece also contains the closing events. */
export const streamPieces = (count: number, includeUsage: boolean): Buffer[] => {
  const pieces = streamWords(count).map((content) => choice({ content }))
  pieces[0] = choice({ role: 'assistant', content: '' }) + pieces[0]!
  const finish = event([{ index: 0, delta: {}, finish_reason: 'stop' }])
  const usageEvent = includeUsage ? event([], { usage }) : ''
  pieces[count - 1] += `${finish}${usageEvent}data: [DONE]\n\n`
  return pieces.map((piece) => Buffer.from(piece))
}

const choice = (delta: object): string => event([{ index: 0, delta, finish_reason: null }])

const event = (choices: object[], rest = {}): string => {
  const chunk = { ...completion, object: 'chat.completion.chunk', choices, ...rest }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

/** Base64 of exactly `textBytes` characters: a valid PNG of 1024 x 1024 pixels. */
export const pictureBase64 = (textBytes: number): string =>
  filledPng(1024, (textBytes / 4) * 3).toString('base64')

const editBytes = (10 * 1024 * 1024 * 3) / 4

/** A valid PNG as a data URL of 10 MiB base64. */
export const pictureToEdit = (): string =>
  `data:image/png;base64,${filledPng(64, editBytes).toString('base64')}`

/** Bytes of a PNG chunk's length, type and checksum. */
const chunkFrameBytes = 12

/** A valid PNG of exactly this size, most of it noise in a chunk that decoders skip. */
const filledPng = (side: number, bytes: number): Buffer => {
  const header = pngHeader(side)
  const pixels = pngChunk('IDAT', deflateSync(Buffer.alloc(side * (1 + 4 * side))))
  const end = pngChunk('IEND', Buffer.alloc(0))
  const missingBytes = bytes - header.length - pixels.length - end.length
  return Buffer.concat([
    header,
    pngChunk('beNc', noise(missingBytes - chunkFrameBytes)),
    pixels,
    end,
  ])
}

const noise = (bytes: number): Buffer =>
  createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(bytes))

const pngHeader = (side: number): Buffer => {
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const traits = Buffer.alloc(13)
  traits.writeUInt32BE(side, 0)
  traits.writeUInt32BE(side, 4)
  traits.set([8, 6, 0, 0, 0], 8)
  return Buffer.concat([signature, pngChunk('IHDR', traits)])
}

const pngChunk = (type: string, data: Buffer): Buffer => {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  checksum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, checksum])
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
