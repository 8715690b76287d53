import sharp from 'sharp'

export type PictureFormat = 'png' | 'jpeg' | 'webp'
export type Painting = {
  width: number
  height: number
  format: PictureFormat
  /** Selects the colour of the picture. Equal numbers give equal bytes. */
  number: number
}

const painted = new Map<string, Promise<Buffer>>()

/** A picture in one colour, cached. */
export function paint({ width, height, format, number }: Painting): Promise<Buffer> {
  const key = `${width}x${height} ${format} ${number % 64}`
  const cached = painted.get(key)
  if (cached !== undefined) return cached
  const background = colourOf(number)
  const blank = sharp({ create: { width, height, channels: 3, background } })
  const made = blank.toFormat(format, format === 'png' ? { compressionLevel: 1 } : {}).toBuffer()
  painted.set(key, made)
  return made
}

/** Colour for a number, chosen so that JPEG and scaling preserve it. */
export function colourOf(number: number): { r: number; g: number; b: number } {
  const step = number % 64
  return { r: (step % 4) * 80, g: (Math.floor(step / 4) % 4) * 80, b: Math.floor(step / 16) * 80 }
}

/** The number of a picture, from its colour. */
export async function numberIn(bytes: Buffer): Promise<number> {
  const { data } = await sharp(bytes)
    .removeAlpha()
    .resize(1, 1, { fit: 'fill' })
    .raw()
    .toBuffer({ resolveWithObject: true })
  const [r = 0, g = 0, b = 0] = [...data].map((value) => Math.round(value / 80))
  return r + g * 4 + b * 16
}
