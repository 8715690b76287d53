import { readDataUrl } from '../../bytes/base64.ts'
import { conversationImages } from '../image/chat-to-image.ts'
import { readPicture } from '../image/picture.ts'
import type { CatalogModel, Problem } from '../model.ts'
import type { ChatRequest } from './chat.ts'

/** Enough for the header of nearly every picture; one with a longer head is left to the vendor. */
const headCharacters = 65_536

/** The pictures of a conversation that are smaller than the model's vendor reads. */
export function tooSmallPictures(request: ChatRequest, { id, ...row }: CatalogModel): Problem[] {
  const { input_image_side_min: least } = row
  if (least === undefined) return []
  return conversationImages(request).flatMap(({ address, param }) => {
    const head = readDataUrl(address)?.base64.slice(0, headCharacters)
    const picture = head === undefined ? undefined : readPicture([Buffer.from(head)])
    return picture === undefined ? [] : tooSmall(picture, { id, least, param })
  })
}

/** The problem of a picture that is smaller than a model reads; none when it is not. */
export function tooSmall(
  { width, height }: { width: number; height: number },
  { id, least = 0, param }: { id: string; least?: number | undefined; param: string },
): Problem[] {
  if (Math.min(width, height) >= least) return []
  const message = `${id} reads no image with a side below ${least} pixels; this one has ${width}x${height}.`
  return [{ param, message, code: 'invalid_value' }]
}
