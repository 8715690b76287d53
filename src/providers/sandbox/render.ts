import { fileURLToPath } from 'node:url'
import type { OverlayOptions, Sharp } from 'sharp'
import { drawCaption } from './caption.ts'
import { chanceFrom, drawScene, type PictureSize } from './scene.ts'

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

type Frame = PictureSize & { left: number; top: number }

const defaultQuality = 85
const manyPixels = 3_000_000

/**
 * The font configuration that makes captions the same on every host. FONTCONFIG_FILE must name it
 * before the first picture is rendered.
 */
export const fontConfigurationFile: string = fileURLToPath(
  new URL('./font/fonts.conf', import.meta.url),
)

/** Renders the picture of a prompt and a seed, deterministically. Throws an UnreadableSource. */
export async function renderPicture(request: RenderRequest): Promise<Buffer> {
  const size = { width: request.width, height: request.height }
  const transparent = request.transparent === true && request.format !== 'jpeg'
  const scene = drawScene(chanceFrom(request.prompt, request.seed), size)
  const caption = drawCaption(request.prompt, request.seed, size)
  const overlays = await placeSources(request.sources ?? [], size, caption.height)
  const markup =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size.width}" height="${size.height}">` +
    (transparent ? cutOut(scene, size) : scene) +
    overlays.map(({ frame }) => drawFrame(frame, size)).join('') +
    `${caption.markup}</svg>`
  const { default: sharp } = await import('sharp')
  let picture = sharp(Buffer.from(markup))
  if (overlays.length > 0) picture = picture.composite(overlays.map(({ overlay }) => overlay))
  if (!transparent) picture = picture.removeAlpha()
  return encode(picture, request).toBuffer()
}

function cutOut(scene: string, { width, height }: PictureSize): string {
  const rim = Math.max(1, Math.round(Math.min(width, height) * 0.02))
  const [innerWidth, innerHeight] = [width - rim * 2, height - rim * 2]
  const radius = Math.round(Math.min(innerWidth, innerHeight) * 0.12)
  return (
    `<clipPath id="rim"><rect x="${rim}" y="${rim}" width="${innerWidth}"` +
    ` height="${innerHeight}" rx="${radius}"/></clipPath><g clip-path="url(#rim)">${scene}</g>`
  )
}

/** An input picture cannot be decoded. */
export class UnreadableSource extends Error {
  override name = 'UnreadableSource'
}

async function placeSources(sources: readonly Buffer[], size: PictureSize, captionHeight: number) {
  const boxes = layOut(sources.length, size, captionHeight)
  const placed: { overlay: OverlayOptions; frame: Frame }[] = []
  for (const [index, source] of sources.entries()) {
    const box = boxes[index]
    if (box !== undefined) placed.push(await placeSource(source, box))
  }
  return placed
}

function layOut(count: number, { width, height }: PictureSize, captionHeight: number): Frame[] {
  const margin = Math.max(1, Math.round(Math.min(width, height) * 0.06))
  const area = {
    left: margin,
    top: margin,
    width: Math.max(1, width - margin * 2),
    height: Math.max(1, height - captionHeight - margin * 2),
  }
  if (count < 2) return [area]
  const beside = area.width >= area.height
  const [long, across] = beside ? [area.width, area.height] : [area.height, area.width]
  const pitch = Math.max(2, Math.floor(Math.min(long * 0.25, across / (count - 1))))
  const gap = Math.ceil(Math.max(pitch * 0.12, Math.min(width, height) * 0.03))
  const side = Math.max(1, pitch - gap)
  const main = Math.max(1, long - pitch - gap)
  const boxes = [beside ? { ...area, width: main } : { ...area, height: main }]
  for (let tile = 0; tile < count - 1; tile += 1) {
    const [left, top] = beside ? [long - side, tile * pitch] : [tile * pitch, long - side]
    boxes.push({ left: area.left + left, top: area.top + top, width: side, height: side })
  }
  return boxes
}

async function placeSource(source: Buffer, box: Frame) {
  const { default: sharp } = await import('sharp')
  const { data, info } = await sharp(source)
    .autoOrient()
    .resize({ width: box.width, height: box.height, fit: 'inside' })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
    .catch((cause: unknown) => {
      throw new UnreadableSource('A source cannot be decoded.', { cause })
    })
  const left = box.left + Math.floor((box.width - info.width) / 2)
  const top = box.top + Math.floor((box.height - info.height) / 2)
  const raw = { width: info.width, height: info.height, channels: info.channels }
  return {
    overlay: { input: data, raw, left, top },
    frame: { left, top, width: info.width, height: info.height },
  }
}

function drawFrame(frame: Frame, size: PictureSize): string {
  const border = Math.max(1, Math.round(Math.min(size.width, size.height) * 0.008))
  const rectangle = (offset: number, fill: string) =>
    `<rect x="${frame.left - border + offset}" y="${frame.top - border + offset}"` +
    ` width="${frame.width + border * 2}" height="${frame.height + border * 2}" ${fill}/>`
  return rectangle(border, 'fill="#10131f" fill-opacity="0.35"') + rectangle(0, 'fill="#fff"')
}

function encode(picture: Sharp, request: RenderRequest): Sharp {
  const large = request.width * request.height > manyPixels
  const quality = Math.min(100, Math.max(1, Math.round(request.quality ?? defaultQuality)))
  if (request.format === 'jpeg') return picture.jpeg({ quality })
  if (request.format === 'webp') return picture.webp({ quality, effort: large ? 0 : 2 })
  const photographic = (request.sources?.length ?? 0) > 0
  return picture.png({ compressionLevel: 2, adaptiveFiltering: photographic })
}
