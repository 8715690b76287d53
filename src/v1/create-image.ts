import type { Gateway } from '../core/gateway.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import { imagesAnswer } from './image-answer.ts'
import { imageRequest } from './image-request.ts'

/** POST /v1/images/generations */
export function createImage(gateway: Gateway, clock: () => number): Operation<'createImage'> {
  return async (call) => {
    const request = imageRequest(call.body)
    const answered = await gateway.image(request, contextOf(call, 'images'))
    return imagesAnswer(answered, clock())
  }
}
