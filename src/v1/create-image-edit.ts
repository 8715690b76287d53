import type { Gateway } from '../core/gateway.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import { imagesAnswer } from './image-answer.ts'
import { imageRequest } from './image-request.ts'

/** POST /v1/images/edits */
export function createImageEdit(
  gateway: Gateway,
  clock: () => number,
): Operation<'createImageEdit'> {
  return async (call) => {
    const { images, ...body } = call.body
    const addresses = images.map(({ image_url: address }, index) => ({
      address,
      param: `images[${index}].image_url`,
    }))
    const inputs = { addresses, texts: call.texts }
    const answered = await gateway.image(imageRequest(body), contextOf(call, 'images'), inputs)
    return imagesAnswer(answered, clock())
  }
}
