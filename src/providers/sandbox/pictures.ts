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
  stream?: boolean
  partial_images?: number
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
  /** The side of the blocks of an unfinished picture; absent for a finished one. */
  blockPixels?: number
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

/** OpenAI's tokens of a partial image. */
const tokensPerPartial = 100

/** Renders the pictures of a request one after the other; `counts` adds their token counts. */
export async function pictures(
  body: ImageBody,
  { render, counts }: { render: Render; counts: boolean },
) {
  const pixels = sizeOf(body)
  const { n = 1, sources = [] } = body
  const data: { b64_json: string }[] = []
  for (let index = 0; index < n; index++) {
    data.push({ b64_json: await renderBase64(body, { render, index }) })
  }
  const imageTokens = sources.length * tokensPerSource
  const textTokens = countTokens(body.prompt)
  const share = shareOfQuality[body.quality ?? ''] ?? mediumShare
  const drawn = Math.round((pixels.width * pixels.height * share) / pixelsPerToken)
  const partialTokens = tokensPerPartial * (body.partial_images ?? 0)
  const outputTokens = n * (body.tokens ?? drawn) + partialTokens
  const usage = {
    input_tokens: textTokens + imageTokens,
    input_tokens_details: { text_tokens: textTokens, image_tokens: imageTokens },
    output_tokens: outputTokens,
    total_tokens: textTokens + imageTokens + outputTokens,
  }
  return { data, ...(counts ? { usage } : {}) }
}

/** The events of a streamed picture: partial images from coarse to fine, then the picture. */
export async function* pictureEvents(
  body: ImageBody,
  options: { render: Render; counts: boolean },
): AsyncGenerator<object> {
  const { partial_images: partials = 0 } = body
  for (let index = 0; index < partials; index++) {
    const blockPixels = finestBlock * coarser ** (partials - 1 - index)
    const b64_json = await renderBase64(body, { ...options, index: 0, blockPixels })
    yield { type: 'image_generation.partial_image', b64_json, partial_image_index: index }
  }
  const { data, ...rest } = await pictures(body, options)
  yield { type: 'image_generation.completed', ...data[0], ...rest }
}

/** The side of the blocks of the last partial image, and how much larger they are in the one before it. */
const [finestBlock, coarser] = [8, 3]

function sizeOf({ size }: ImageBody) {
  return size === undefined ? defaultPixels : readPixels(size)
}

async function renderBase64(
  body: ImageBody,
  { render, index, blockPixels }: { render: Render; index: number; blockPixels?: number },
): Promise<string> {
  const bytes = await render({
    prompt: body.prompt,
    seed: (body.seed ?? 0) + index,
    ...sizeOf(body),
    format: body.output_format,
    ...(body.output_compression === undefined ? {} : { quality: body.output_compression }),
    transparent: body.background === 'transparent',
    sources: (body.sources ?? []).map((base64) => Buffer.from(base64, 'base64')),
    ...(blockPixels === undefined ? {} : { blockPixels }),
  })
  return bytes.toString('base64')
}
