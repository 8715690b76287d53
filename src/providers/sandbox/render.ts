import type { Sharp } from 'sharp'
import { drawCaption } from './caption.ts'
import { drawScene } from './scene/compose.ts'
import { drawEdit } from './scene/edit.ts'
import { rect, type PictureSize } from './scene/svg.ts'
import type { StyleName } from './scene/words.ts'
import { layOutSources, type SourceLayer } from './sources.ts'

export type RenderRequest = {
  prompt: string
  seed: number
  width: number
  height: number
  format: 'png' | 'jpeg' | 'webp'
  /** 0 to 100; read for jpeg and webp. */
  quality?: number
  /** Read for png and webp. */
  transparent?: boolean
  /** The input pictures of an edit, already checked to be decodable. */
  sources?: readonly Buffer[]
}

const defaultQuality = 85
const manyPixels = 3_000_000
/** The pixels of the shorter side of a picture in pixels. */
const pixelArtSide = 88
const paper = '#fbf6ea'

/** Renders the picture of a prompt and a seed, deterministically. Throws an UnreadableSource. */
export async function renderPicture(request: RenderRequest): Promise<Buffer> {
  const { prompt, seed, width, height, sources = [] } = request
  const size = { width, height }
  const caption = drawCaption(prompt, seed, size)
  const asked = { prompt, seed, ...size, covered: caption.height }
  const { markup, styles } = sources.length > 0 ? drawEdit(asked) : drawScene(asked)
  const transparent = request.transparent === true && request.format !== 'jpeg'
  const drawn = painted(markup, styles, size)
  const isDrawing = sources.length === 0 && !isConverted(styles)
  let picture = isDrawing
    ? await read(svg(framed(drawn, size, transparent) + caption.markup, size))
    : await layered({ ...asked, sources, drawn, styles, transparent, caption: caption.markup })
  if (!transparent) picture = picture.removeAlpha()
  return encode(picture, request).toBuffer()
}

function svg(markup: string, { width, height }: PictureSize): Buffer {
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${markup}</svg>`,
  )
}

async function read(input: Buffer): Promise<Sharp> {
  const { default: sharp } = await import('sharp')
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

/** Watercolours are thin layers on paper. */
function painted(
  markup: string,
  styles: ReadonlySet<StyleName>,
  { width, height }: PictureSize,
): string {
  if (!styles.has('watercolour')) return markup
  const shift = Math.max(1, Math.min(width, height) * 0.006)
  return (
    `<g opacity="0.62">${markup}</g>` +
    `<g opacity="0.34" transform="translate(${-shift} ${shift})">${markup}</g>` +
    rect(0, 0, [width, height], paper, { opacity: 0.16 })
  )
}

/** Whether a style is made of the pixels of a picture. */
function isConverted(styles: ReadonlySet<StyleName>): boolean {
  return (['pixels', 'grey', 'sepia', 'watercolour'] as const).some((style) => styles.has(style))
}

type Layers = PictureSize & {
  sources: readonly Buffer[]
  drawn: string
  styles: ReadonlySet<StyleName>
  transparent: boolean
  caption: string
  covered: number
}
type Layer = Omit<SourceLayer, 'raw'> & Partial<Pick<SourceLayer, 'raw'>>

/** The input pictures, what is drawn over them, and the caption. */
async function layered({ sources, drawn, styles, transparent, caption, covered, ...size }: Layers) {
  const { default: sharp } = await import('sharp')
  const whole = rect(0, 0, [size.width, size.height], '#fff')
  const mask = { input: svg(framed(whole, size, true), size), blend: 'dest-in' as const }
  const last = [...(transparent ? [mask] : []), { input: svg(caption, size) }]
  const [first, ...others] = await layOutSources(sources, size, covered)
  const layers: Layer[] = [...others, { input: svg(drawn, size), left: 0, top: 0 }]
  const create = { ...size, channels: 4 as const, background: paper }
  const ground = first === undefined ? sharp({ create }) : sharp(first.input, { raw: first.raw })
  if (!isConverted(styles)) return ground.composite([...layers, ...last])
  const styled = await converted(ground.composite(layers), styles, size)
  return styled.composite(last)
}

/** A picture in the styles that were asked for. */
async function converted(picture: Sharp, styles: ReadonlySet<StyleName>, size: PictureSize) {
  let styled = await settled(picture)
  if (styles.has('pixels')) {
    const scale = Math.max(1, Math.min(size.width, size.height) / pixelArtSide)
    const small = { width: Math.ceil(size.width / scale), height: Math.ceil(size.height / scale) }
    const coarse = { fit: 'fill', kernel: 'nearest' } as const
    styled = (await settled(styled.resize({ ...small, ...coarse }))).resize({ ...size, ...coarse })
  }
  if (styles.has('watercolour')) styled = styled.modulate({ saturation: 0.85, brightness: 1.05 })
  if (styles.has('grey') || styles.has('sepia')) styled = styled.modulate({ saturation: 0 })
  if (styles.has('sepia')) styled = styled.tint('#b8925a')
  return settled(styled)
}

/** Carries out what was asked of a picture so far, since one pass has an order of its own. */
async function settled(picture: Sharp): Promise<Sharp> {
  const { default: sharp } = await import('sharp')
  const { data, info } = await picture.raw().toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  return sharp(data, { raw: { width, height, channels } })
}

function encode(picture: Sharp, request: RenderRequest): Sharp {
  const large = request.width * request.height > manyPixels
  const quality = Math.min(100, Math.max(1, Math.round(request.quality ?? defaultQuality)))
  if (request.format === 'jpeg') return picture.jpeg({ quality })
  if (request.format === 'webp') return picture.webp({ quality, effort: large ? 0 : 2 })
  const photographic = (request.sources?.length ?? 0) > 0
  return picture.png({ compressionLevel: 2, adaptiveFiltering: photographic })
}
