import { loadSharp } from '../../bytes/load-sharp.ts'
import type { PictureSize } from './scene/svg.ts'

type Frame = PictureSize & { left: number; top: number }
/** An input picture as pixels, with its position. */
type SourceLayer = {
  input: Buffer
  raw: { width: number; height: number; channels: 4 }
  left: number
  top: number
}

/** Side of the miniature that is enlarged to a blurred background. */
const blurredSide = 12
const tileShare = 0.22

/** An input picture cannot be decoded. */
export class UnreadableSource extends Error {
  override name = 'UnreadableSource'
}

/**
 * Lays out the input pictures: the first as large as possible on a blurred copy of itself, the
 * others as tiles along the upper edge. The first layer fills the size. Throws an UnreadableSource.
 */
export async function layOutSources(
  sources: readonly Buffer[],
  size: PictureSize,
  captionHeight: number,
): Promise<SourceLayer[]> {
  const [first, ...others] = sources
  if (first === undefined) return []
  const whole = { left: 0, top: 0, ...size }
  const main = await fitted(first, whole, 'inside')
  const layers = coversAll(main, size) ? [main] : [await blurred(first, size), main]
  for (const [index, frame] of tiles(others.length, size, captionHeight).entries()) {
    const border = Math.max(1, Math.round(Math.min(size.width, size.height) * 0.006))
    layers.push(...(await framedTile(others[index]!, frame, border)))
  }
  return layers
}

function coversAll({ raw }: SourceLayer, { width, height }: PictureSize): boolean {
  return raw.width >= width && raw.height >= height
}

/** Positions of tiles for the other pictures, side by side: the more tiles, the smaller. */
function tiles(count: number, { width, height }: PictureSize, captionHeight: number): Frame[] {
  if (count === 0) return []
  const gap = Math.max(1, Math.round(Math.min(width, height) * 0.02))
  const perRow = Math.max(1, Math.min(count, Math.ceil(width / Math.max(1, height)) * 4))
  const rows = Math.ceil(count / perRow)
  const wide = Math.floor((width - gap) / perRow) - gap
  const tall = Math.floor((height - captionHeight - gap) / rows) - gap
  const side = Math.max(1, Math.min(wide, tall, Math.round(Math.min(width, height) * tileShare)))
  return Array.from({ length: count }, (_, index) => ({
    left: Math.max(0, Math.min(width - side, gap + (index % perRow) * (side + gap))),
    top: Math.max(0, Math.min(height - side, gap + Math.floor(index / perRow) * (side + gap))),
    width: side,
    height: side,
  }))
}

async function framedTile(source: Buffer, frame: Frame, border: number): Promise<SourceLayer[]> {
  const tile = await fitted(source, frame, 'cover')
  const inner = Math.max(1, frame.width - border * 2)
  if (inner === frame.width || inner < 2) return [tile]
  const white = Buffer.alloc(frame.width * frame.height * 4, 255)
  const raw = { width: frame.width, height: frame.height, channels: 4 as const }
  const within = { width: inner, height: inner, left: frame.left + border, top: frame.top + border }
  return [
    { input: white, raw, left: frame.left, top: frame.top },
    await fitted(source, within, 'cover'),
  ]
}

async function fitted(source: Buffer, box: Frame, fit: 'inside' | 'cover'): Promise<SourceLayer> {
  const { data, info } = await decoded(source, box, fit)
  return {
    input: data,
    raw: { width: info.width, height: info.height, channels: 4 },
    left: box.left + Math.floor((box.width - info.width) / 2),
    top: box.top + Math.floor((box.height - info.height) / 2),
  }
}

async function blurred(source: Buffer, size: PictureSize): Promise<SourceLayer> {
  const sharp = await loadSharp()
  const small = { left: 0, top: 0, width: blurredSide, height: blurredSide }
  const { data } = await decoded(source, small, 'cover')
  const raw = { width: blurredSide, height: blurredSide, channels: 4 as const }
  const input = await sharp(data, { raw })
    .resize({ ...size, fit: 'fill', kernel: 'cubic' })
    .raw()
    .toBuffer()
  return { input, raw: { ...size, channels: 4 }, left: 0, top: 0 }
}

async function decoded(source: Buffer, { width, height }: PictureSize, fit: 'inside' | 'cover') {
  const sharp = await loadSharp()
  return sharp(source)
    .autoOrient()
    .resize({ width, height, fit })
    .flatten({ background: '#ffffff' })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
    .catch((cause: unknown) => {
      throw new UnreadableSource('A source image cannot be decoded.', { cause })
    })
}
