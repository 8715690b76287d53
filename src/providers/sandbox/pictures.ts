import type { ImageFormat } from '../../core/image/image.ts'
import { readPixels } from '../../core/image/size.ts'
import { countTokens } from './tokens.ts'

/** An image request in the sandbox's wire format. */
export type ImageBody = {
  prompt: string
  n?: number
  size?: string
  quality?: string
  seed?: number
  output_format: ImageFormat
  output_compression?: number
  background?: string
  sources?: string[]
  /** Output tokens per picture, if the simulated model counts them by size class. */
  tokens?: number
}
export type RenderRequest = {
  prompt: string
  seed: number
  width: number
  height: number
  format: ImageFormat
  /** The quality of a jpeg or webp, from 0 to 100. */
  quality?: number
  /** Whether the background of a png or webp is transparent. */
  transparent?: boolean
  /** The input pictures of an edit. Only their headers were checked. */
  sources?: readonly Buffer[]
}
export type Render = (request: RenderRequest) => Promise<Buffer>

/** An input picture cannot be decoded. */
export class UnreadableSource extends Error {
  override name = 'UnreadableSource'
}

const defaultPixels = { width: 1024, height: 1024 }
/** Pixels per output token of a picture of high quality, as OpenAI counts. */
const pixelsPerToken = 252
const shareOfQuality: Readonly<Record<string, number>> = { low: 0.0654, high: 1, hd: 1 }
const mediumShare = 0.2538
const tokensPerSource = 1024

/** Renders the pictures of a request one after the other; `counts` adds their token counts. */
export async function pictures(
  body: ImageBody,
  { render, counts }: { render: Render; counts: boolean },
): Promise<object> {
  const pixels = body.size === undefined ? defaultPixels : readPixels(body.size)
  const { n = 1, sources = [] } = body
  const data = []
  for (let index = 0; index < n; index++) {
    const bytes = await render({
      prompt: body.prompt,
      seed: (body.seed ?? 0) + index,
      ...pixels,
      format: body.output_format,
      ...(body.output_compression === undefined ? {} : { quality: body.output_compression }),
      transparent: body.background === 'transparent',
      sources: sources.map((base64) => Buffer.from(base64, 'base64')),
    })
    data.push({ b64_json: bytes.toString('base64') })
  }
  const imageTokens = sources.length * tokensPerSource
  const textTokens = countTokens(body.prompt)
  const share = shareOfQuality[body.quality ?? ''] ?? mediumShare
  const drawn = Math.round((pixels.width * pixels.height * share) / pixelsPerToken)
  const outputTokens = n * (body.tokens ?? drawn)
  const usage = {
    input_tokens: textTokens + imageTokens,
    input_tokens_details: { text_tokens: textTokens, image_tokens: imageTokens },
    output_tokens: outputTokens,
    total_tokens: textTokens + imageTokens + outputTokens,
  }
  return { data, ...(counts ? { usage } : {}) }
}
