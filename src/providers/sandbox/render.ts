import type { Sharp } from 'sharp'
import { loadSharp } from '../../bytes/load-sharp.ts'
import { drawCaption, type Caption } from './caption.ts'
import { drawEdit, drawScene } from './scene/scene.ts'
import { rect, type PictureSize } from './scene/svg.ts'
import { layOutSources } from './sources.ts'

export type RenderRequest = {
  prompt: string
  seed: number
  width: number
  height: number
  format: 'png' | 'jpeg' | 'webp'
  /** The quality of a jpeg or webp, from 0 to 100. */
  quality?: number
  /** Whether the background of a png or webp is transparent. */
  transparent?: boolean
  /** The input pictures of an edit. Only their headers were checked. */
  sources?: readonly Buffer[]
}

const defaultQuality = 85
const manyPixels = 3_000_000

/** Renders the picture of a prompt and a seed deterministically. Throws an UnreadableSource. */
export async function renderPicture(request: RenderRequest): Promise<Buffer> {
  const { prompt, seed, width, height, sources = [] } = request
  const size = { width, height }
  const caption = drawCaption(prompt, seed, size)
  const asked = { prompt, seed, ...size, covered: caption.height }
  const transparent = request.transparent === true && request.format !== 'jpeg'
  let picture =
    sources.length > 0
      ? await edited({ ...size, sources, transparent, caption, drawn: drawEdit(asked) })
      : await read(svg(framed(drawScene(asked), size, transparent) + caption.markup, size))
  if (!transparent) picture = picture.removeAlpha()
  return encode(picture, request).toBuffer()
}

function svg(markup: string, { width, height }: PictureSize): Buffer {
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${markup}</svg>`,
  )
}

async function read(input: Buffer): Promise<Sharp> {
  const sharp = await loadSharp()
  return sharp(input)
}

function framed(markup: string, { width, height }: PictureSize, transparent: boolean): string {
  if (!transparent) return markup
  const rim = Math.max(1, Math.round(Math.min(width, height) * 0.02))
  const [innerWidth, innerHeight] = [width - rim * 2, height - rim * 2]
  const radius = Math.round(Math.min(innerWidth, innerHeight) * 0.12)
  return (
    `<clipPath id="rim"><rect x="${rim}" y="${rim}" width="${innerWidth}"` +
    ` height="${innerHeight}" rx="${radius}"/></clipPath><g clip-path="url(#rim)">${markup}</g>`
  )
}

type Edit = PictureSize & {
  sources: readonly Buffer[]
  drawn: string
  transparent: boolean
  caption: Caption
}

/** The input pictures, the drawing over them, and the caption. */
async function edited({ sources, drawn, transparent, caption, ...size }: Edit): Promise<Sharp> {
  const sharp = await loadSharp()
  const [ground, ...others] = await layOutSources(sources, size, caption.height)
  const whole = rect(0, 0, [size.width, size.height], '#fff')
  const mask = { input: svg(framed(whole, size, true), size), blend: 'dest-in' as const }
  return sharp(ground!.input, { raw: ground!.raw }).composite([
    ...others,
    { input: svg(drawn, size) },
    ...(transparent ? [mask] : []),
    { input: svg(caption.markup, size) },
  ])
}

function encode(picture: Sharp, request: RenderRequest): Sharp {
  const large = request.width * request.height > manyPixels
  const quality = Math.min(100, Math.max(1, Math.round(request.quality ?? defaultQuality)))
  if (request.format === 'jpeg') return picture.jpeg({ quality })
  if (request.format === 'webp') return picture.webp({ quality, effort: large ? 0 : 2 })
  const photographic = (request.sources?.length ?? 0) > 0
  return picture.png({ compressionLevel: 2, adaptiveFiltering: photographic })
}
