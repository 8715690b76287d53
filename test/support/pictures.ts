import sharp from 'sharp'

export type SeenPicture = { format: string; width: number; height: number }

/** Format and size of a picture, which is decoded completely. */
export async function look(base64: string): Promise<SeenPicture> {
  const bytes = Buffer.from(base64, 'base64')
  const { format, width, height } = await sharp(bytes).metadata()
  await sharp(bytes, { failOn: 'error', sequentialRead: true }).resize(8, 8).raw().toBuffer()
  return { format, width, height }
}

/** Decodes the picture in a data URL, whose media type must be correct. */
export async function lookAtUrl(url: string): Promise<SeenPicture> {
  const [, type = '', base64 = ''] = /^data:image\/([a-z]+);base64,(.+)$/s.exec(url) ?? []
  const seen = await look(base64)
  if (seen.format !== type) throw new Error(`A ${seen.format} picture has the media type ${type}.`)
  return seen
}

/** Members of a chat answer with pictures that the tests read. */
export type ChatImagesBody = {
  object: string
  choices: {
    index: number
    message: {
      role: string
      content: string | null
      images: { type: string; image_url: { url: string } }[]
    }
    finish_reason: string
  }[]
  usage: { cost: number | null; cost_status: string; cost_details?: object }
  warnings?: { param: string; requested: unknown; applied: unknown; reason: string }[]
}

/** A PNG that does not compress, of one byte for each pixel and channel. */
export function noisePng(width: number, height: number, channels: 3 | 4 = 3): Promise<Buffer> {
  return sharp({
    create: {
      width,
      height,
      channels,
      background: { r: 128, g: 128, b: 128, alpha: 0.5 },
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })
    .png({ compressionLevel: 0 })
    .toBuffer()
}
