import sharp from 'sharp'

export type SeenPicture = { format: string; width: number; height: number }

/** What a picture's bytes say they are; they are decoded to the end. */
export async function look(base64: string): Promise<SeenPicture> {
  const bytes = Buffer.from(base64, 'base64')
  const { format, width, height } = await sharp(bytes).metadata()
  await sharp(bytes, { failOn: 'error', sequentialRead: true }).resize(8, 8).raw().toBuffer()
  return { format, width, height }
}

/** The picture of a data URL, which names its type truly. */
export async function lookAtUrl(url: string): Promise<SeenPicture> {
  const [, type = '', base64 = ''] = /^data:image\/([a-z]+);base64,(.+)$/s.exec(url) ?? []
  const seen = await look(base64)
  if (seen.format !== type) throw new Error(`A ${seen.format} is called ${type}.`)
  return seen
}

/** What the answer of a chat with an image model holds, as far as the tests look at it. */
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
