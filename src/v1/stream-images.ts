import type { components } from '../../generated/types.ts'
import type { Answered } from '../core/call.ts'
import type { GatewayError } from '../core/error.ts'
import type { AboutPictures, ImageResult, ImageWatch, Picture } from '../core/image/image.ts'
import { pixelsText } from '../core/image/size.ts'
import type { Answer } from '../http/answer.ts'
import { errorBody } from '../http/error-answer.ts'
import type { OperationCall } from '../http/operation.ts'
import { receiptHeaders } from '../http/receipt-headers.ts'
import { imageErrorEvent, imageEvents, writeEvent } from './image-events.ts'
import { imagesTail } from './images-answer.ts'

type Options = {
  operation: components['schemas']['ImageJobOperation']
  call: Pick<OperationCall<'createImage'>, 'requestId' | 'claim' | 'stream'>
  partialImages: number
  clock: () => number
}

/**
 * Streams pictures: partial images and, of several pictures, each as soon as it is made. The last picture waits for
 * the row of the call, whose cost is in its event. `watch` is for the call, `answer` for its answer.
 */
export function streamImages({ operation, call, partialImages, clock }: Options) {
  const { stream, requestId, claim } = call
  const events = imageEvents(operation, clock())
  const completed = (
    picture: Picture,
    ...rest: [index: number, about: AboutPictures, last?: object]
  ) => events.completed({ ...picture, size: pixelsText(picture) }, ...rest)
  const sent = new Map<Picture, number>()
  let last: Parameters<typeof completed> | undefined
  let isFull = false
  const watch: ImageWatch = { partialImages, hasDelivered: () => sent.size > 0 }
  if (stream !== undefined) {
    const failed = (error: GatewayError, late: object) =>
      imageErrorEvent(errorBody(error, requestId).error, late)
    stream.form = { failed }
    watch.partial = (one) => {
      // A client that reads slowly gets fewer, so that at most one waits for it.
      if (isFull) return
      isFull = !writeEvent(stream, events.partial(one))
      if (isFull) stream.onDrain(() => (isFull = false))
    }
  }
  // The stream of an idempotency key is stored, and has every picture at its end.
  if (stream !== undefined && claim === undefined) {
    watch.finished = (...one) => {
      if (last !== undefined) {
        writeEvent(stream, completed(...last))
        sent.set(last[0], last[1])
      }
      last = one
    }
  }
  return {
    watch,
    answer: (answered: Answered<ImageResult>): Answer => {
      const { usage, warnings, ...about } = imagesTail(answered)
      const headers = receiptHeaders(answered.receipt)
      return {
        status: 200,
        headers,
        events: async (sink, isLate) => {
          const taken = new Set(sent.values())
          const rest = answered.result.pictures.filter((picture) => !sent.has(picture))
          let index = 0
          for (const picture of rest) {
            while (taken.has(index)) index += 1
            const late = isLate ? { late_headers: headers } : {}
            const more = picture === rest.at(-1) ? { usage, warnings, ...late } : undefined
            writeEvent(sink, completed(picture, index++, about, more))
          }
          return undefined
        },
      }
    },
  }
}
