import type { OverlayOptions, Sharp } from 'sharp'
import { loadSharp } from '../../bytes/load-sharp.ts'
import { UnreadableSource, type RenderRequest } from './pictures.ts'
import { drawEdit, drawScene } from './scene/scene.ts'
import type { PictureSize } from './scene/svg.ts'

const defaultQuality = 85
const manyPixels = 3_000_000

/** Renders the picture of a prompt and a seed deterministically. Throws an UnreadableSource. */
export async function renderPicture(request: RenderRequest): Promise<Buffer> {
  const { prompt, seed, width, height, sources = [] } = request
  const size = { width, height }
  if (request.format === 'svg') return svg(drawScene({ prompt, seed, ...size, covered: 0 }), size)
  const sharp = await loadSharp()
  const caption = await drawCaption(prompt, seed, size)
  const scene = { prompt, seed, ...size, covered: caption.height }
  const transparent = request.transparent === true && request.format !== 'jpeg'
  const [first] = sources
  const ground =
    first === undefined ? sharp(svg(drawScene(scene), size)) : await blurred(first, size)
  const edited = first === undefined ? [] : [{ input: svg(drawEdit(scene), size) }]
  const picture = ground.composite([
    ...(await layOutSources(sources, size, caption.height)),
    ...edited,
    ...(transparent ? [{ input: svg(frame(size), size), blend: 'dest-in' as const }] : []),
    ...caption.layers,
  ])
  const whole = transparent ? picture : picture.removeAlpha()
  return encode(await inBlocks(whole, request), request).toBuffer()
}

/** The picture in blocks of one colour, as a partial image; unchanged without `blockPixels`. */
async function inBlocks(picture: Sharp, { blockPixels, ...size }: RenderRequest): Promise<Sharp> {
  if (blockPixels === undefined) return picture
  const { data, info } = await picture.raw().toBuffer({ resolveWithObject: true })
  const sharp = await loadSharp()
  const blocks = (side: number) => Math.max(1, Math.round(side / blockPixels))
  const small = { width: blocks(info.width), height: blocks(info.height), fit: 'fill' as const }
  const coarse = await sharp(data, { raw: info }).resize(small).raw().toBuffer()
  const raw = { ...small, channels: info.channels }
  const { width, height } = size
  return sharp(coarse, { raw }).resize({ width, height, fit: 'fill', kernel: 'nearest' })
}

function svg(markup: string, { width, height }: PictureSize): Buffer {
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${markup}</svg>`,
  )
}

/** The part of a transparent picture that is not clear: a rectangle with round corners. */
function frame({ width, height }: PictureSize): string {
  const rim = Math.max(1, Math.round(Math.min(width, height) * 0.02))
  const [innerWidth, innerHeight] = [width - rim * 2, height - rim * 2]
  const radius = Math.round(Math.min(innerWidth, innerHeight) * 0.12)
  return `<rect x="${rim}" y="${rim}" width="${innerWidth}" height="${innerHeight}" rx="${radius}"/>`
}

function encode(picture: Sharp, request: RenderRequest): Sharp {
  const large = request.width * request.height > manyPixels
  const quality = Math.min(100, Math.max(1, Math.round(request.quality ?? defaultQuality)))
  if (request.format === 'jpeg') return picture.jpeg({ quality })
  if (request.format === 'webp') return picture.webp({ quality, effort: large ? 0 : 2 })
  const photographic = (request.sources?.length ?? 0) > 0
  return picture.png({ compressionLevel: 2, adaptiveFiltering: photographic })
}

/** Side of the miniature that is enlarged to a blurred background. */
const blurredSide = 12
const tileShare = 0.22

async function blurred(source: Buffer, size: PictureSize): Promise<Sharp> {
  const small = { width: blurredSide, height: blurredSide, fit: 'cover' } as const
  const { input, raw } = await pixels((await opened(source)).resize(small))
  const sharp = await loadSharp()
  return sharp(input, { raw }).resize({ ...size, fit: 'fill', kernel: 'cubic' })
}

/** Lays out input pictures: the first as large as possible, the others as tiles along the upper edge. */
async function layOutSources(
  [first, ...others]: readonly Buffer[],
  size: PictureSize,
  captionHeight: number,
): Promise<OverlayOptions[]> {
  if (first === undefined) return []
  const layers: OverlayOptions[] = [
    await pixels((await opened(first)).resize({ ...size, fit: 'inside' })),
  ]
  const { width, height } = size
  const short = Math.min(width, height)
  const gap = Math.max(1, Math.round(short * 0.02))
  const perRow = Math.max(1, Math.min(others.length, Math.ceil(width / height) * 4))
  const wide = Math.floor((width - gap) / perRow) - gap
  const tall = Math.floor((height - captionHeight - gap) / Math.ceil(others.length / perRow)) - gap
  const side = Math.max(1, Math.min(wide, tall, Math.round(short * tileShare)))
  const border = side < 8 ? 0 : Math.max(1, Math.round(short * 0.006))
  const edges = { top: border, bottom: border, left: border, right: border }
  for (const [index, source] of others.entries()) {
    const inner = side - border * 2
    const tile = (await opened(source))
      .resize({ width: inner, height: inner, fit: 'cover' })
      .extend({ ...edges, background: '#ffffff' })
    const left = Math.min(width - side, gap + (index % perRow) * (side + gap))
    const top = Math.min(height - side, gap + Math.floor(index / perRow) * (side + gap))
    layers.push({ ...(await pixels(tile)), left, top })
  }
  return layers
}

async function opened(source: Buffer): Promise<Sharp> {
  const sharp = await loadSharp()
  return sharp(source).autoOrient().flatten({ background: '#ffffff' }).toColourspace('srgb')
}

async function pixels(picture: Sharp) {
  const { data, info } = await picture
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
    .catch((cause: unknown) => {
      throw new UnreadableSource('The sandbox cannot read one of the pictures to edit.', { cause })
    })
  return { input: data, raw: { width: info.width, height: info.height, channels: 4 as const } }
}

type Caption = {
  layers: OverlayOptions[]
  height: number
}

const smallestFont = 5
const widestLine = 40
const promptCharactersMax = 400
/** Lines of a long prompt, by the average width of a character. */
const linesMax = 5
const averageWidth = 0.7
/** The font of a prompt of so many lines at full size. */
const scales = [1, 1, 0.8] as const
const smallestScale = 0.64

/** Draws the prompt and a status line; nothing when the picture is too small for text. */
async function drawCaption(prompt: string, seed: number, size: PictureSize): Promise<Caption> {
  const short = Math.min(size.width, size.height)
  const font = Math.max(short * 0.028, Math.min(11, short * 0.09))
  if (font < smallestFont) return { layers: [], height: 0 }
  const margin = Math.round(short * 0.03)
  const padding = Math.round(font * 0.6)
  const width = Math.floor(Math.min(size.width - margin * 2, font * widestLine)) - padding * 2
  const lineCharacters = width / (font * averageWidth)
  const shown = readable(prompt, (lineCharacters * linesMax) / smallestScale)
  const scale = scales[Math.floor(shown.length / lineCharacters)] ?? smallestScale
  const status = `sandbox · ${size.width}x${size.height} · seed ${seed}`
  const text =
    `<span foreground="#fff"><span size="${percent(scale)}">${escapeXml(shown)}</span>\n` +
    `<span size="62%" alpha="75%">${status}</span></span>`
  const sharp = await loadSharp()
  const written = sharp({
    text: { text, font: `DejaVu Sans Bold ${font}`, dpi: 72, width, wrap: 'word-char', rgba: true },
  }).resize({
    width,
    height: size.height - (margin + padding) * 2,
    fit: 'inside',
    withoutEnlargement: true,
  })
  const { data, info } = await written.raw().toBuffer({ resolveWithObject: true })
  const panel = { width: info.width + padding * 2, height: info.height + padding * 2 }
  const top = size.height - margin - panel.height
  const background = `<svg width="${panel.width}" height="${panel.height}"><rect width="100%" height="100%" rx="${font / 2}" fill="#10131f" fill-opacity="0.86"/></svg>`
  return {
    layers: [
      { input: Buffer.from(background), left: margin, top },
      { input: data, raw: { ...info, channels: 4 }, left: margin + padding, top: top + padding },
    ],
    height: panel.height + margin,
  }
}

function percent(scale: number): string {
  return `${Math.round(scale * 100)}%`
}

/** Characters of scripts and emoji that the font lacks and would show as boxes. */
const unprintable =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\u3000-\u303f\uff00-\uffef\p{Emoji_Presentation}\u{fe0f}]/gu

// Category C contains all characters that XML forbids: controls, lone surrogates and noncharacters.
function readable(prompt: string, most: number): string {
  const characters = Array.from(
    prompt
      .slice(0, promptCharactersMax * 4)
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/\p{C}/gu, '')
      .replaceAll(unprintable, '')
      .trim(),
  )
  const kept = characters.slice(0, Math.min(promptCharactersMax, most)).join('')
  return kept.length < characters.length ? `${kept}…` : kept
}

function escapeXml(content: string): string {
  return content.replaceAll(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
