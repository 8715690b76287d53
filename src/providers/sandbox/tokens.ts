import type { ChatRequest } from '../../core/chat/chat.ts'
import { readPicture } from '../../core/image/picture.ts'

/**
 * Splits a text into tokens: at most eight letters, at most three digits, or one other character,
 * with the space before it. The same tokens are streamed and counted.
 */
export function tokensOf(text: string): string[] {
  return text.match(/\s?\p{L}{1,8}|\s?\p{N}{1,3}|\s?[^\s\p{L}\p{N}]|\s/gu) ?? []
}

/** Characters that are counted; the rest is extrapolated, since splitting long texts takes too long. */
const countedCharactersMax = 262_144

/** The number of tokens in a text; estimated for a very long text. */
export function countTokens(text: string): number {
  const { length } = tokensOf(text.slice(0, countedCharactersMax))
  if (text.length <= countedCharactersMax) return length
  return Math.ceil((length / countedCharactersMax) * text.length)
}

const lowDetailTokens = 85
const tokensPerTile = 170
const tilePixels = 512
const [longSideMax, shortSideMax] = [2048, 768]
const headerCharactersMax = 131_072
const unseenPixels = { width: 1024, height: 1024 }
/** Tokens per file or audio part, whose content the sandbox does not read. */
const fileTokens = 255

/** The tokens of the images, files and audio parts in a conversation. */
export function mediaTokens({ messages }: ChatRequest): number {
  let tokens = 0
  for (const { content } of messages) {
    for (const part of Array.isArray(content) ? content : []) {
      if (part.type === 'image_url') tokens += pictureTokens(part.image_url)
      else if (part.type !== 'text' && part.type !== 'refusal') tokens += fileTokens
    }
  }
  return tokens
}

/** OpenAI's count of tiles after scaling; a picture by URL counts as 1024 x 1024. */
function pictureTokens({ url, detail }: { url: string; detail?: string }): number {
  if (detail === 'low') return lowDetailTokens
  const start = url.startsWith('data:') ? url.indexOf(',') + 1 : url.length
  const header = Buffer.from(url.slice(start, start + headerCharactersMax))
  const { width, height } = readPicture([header]) ?? unseenPixels
  const [long, short] = [Math.max(width, height), Math.min(width, height)]
  const scale = Math.min(1, longSideMax / long, shortSideMax / short)
  const tiles = (side: number) => Math.ceil((side * scale) / tilePixels)
  return lowDetailTokens + tokensPerTile * tiles(long) * tiles(short)
}
