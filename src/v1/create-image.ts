import type { Gateway } from '../core/gateway.ts'
import type { ImageRequest } from '../core/image.ts'
import { contextOf, type Body, type Operation } from '../http/operation.ts'
import { imagesAnswer } from './image-answer.ts'

/** POST /v1/images/generations */
export function createImage(gateway: Gateway, clock: () => number): Operation<'createImage'> {
  return async (call) => {
    const request = fromBody(call.body)
    const answered = await gateway.image(request, contextOf(call, 'images'))
    return imagesAnswer(answered, request, clock())
  }
}

function fromBody(body: Body<'createImage'>): ImageRequest {
  const { model, prompt, n, size, quality, style, background, user } = body
  const { output_format: outputFormat, output_compression: outputCompression } = body
  return {
    model,
    prompt,
    n,
    sources: [],
    // OpenAI's clients may send null for what they leave open.
    ...(size == null ? {} : { size }),
    ...(quality == null ? {} : { quality }),
    ...(style == null ? {} : { style }),
    ...(background == null ? {} : { background }),
    ...(outputFormat == null ? {} : { outputFormat }),
    ...(outputCompression == null ? {} : { outputCompression }),
    ...(user == null ? {} : { user }),
  }
}
