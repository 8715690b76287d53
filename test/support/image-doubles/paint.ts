import sharp from 'sharp'

export type PictureFormat = 'png' | 'jpeg' | 'webp' | 'svg'
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
  if (format === 'svg') return Promise.resolve(drawn({ width, height }, background))
  const blank = sharp({ create: { width, height, channels: 3, background } })
  const made = blank.toFormat(format, format === 'png' ? { compressionLevel: 1 } : {}).toBuffer()
  painted.set(key, made)
  return made
}

/** A vector picture in one colour, as vendors write it. */
function drawn(
  { width, height }: Pick<Painting, 'width' | 'height'>,
  { r, g, b }: ReturnType<typeof colourOf>,
): Buffer {
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} preserveAspectRatio="none"><path d="M 0 0 L ${width} 0 L ${width} ${height} L 0 ${height} Z" fill="rgb(${r},${g},${b})"/></svg>`,
  )
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
