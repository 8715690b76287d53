import { contextOf, type Operation } from '../http/operation.ts'
import { imagesAnswer } from './image-answer.ts'
import { checkFallbacks } from './check-fallbacks.ts'
import { imageRequest, type ImageOperationOptions } from './image-request.ts'

/** POST /v1/images/generations */
export function createImage({
  gateway,
  routes,
  clock,
}: ImageOperationOptions): Operation<'createImage'> {
  return async (call) => {
    const { body, caller } = call
    checkFallbacks(body.models ?? [], true, (name) => routes.peek(name, caller))
    const request = imageRequest(body)
    const answered = await gateway.image(request, contextOf(call, 'images'))
    return imagesAnswer(answered, clock())
  }
}
