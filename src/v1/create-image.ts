import type { Gateway } from '../core/gateway.ts'
import { prune } from '../core/prune.ts'
import type { ImageRequest } from '../core/image/image.ts'
import type { ImageInputs } from '../core/image/work.ts'
import { checkFallbacks, modelsOf } from '../core/model.ts'
import type { Body, Operation, OperationCall } from '../http/operation.ts'
import { answerImages, type ImageParts } from './image-jobs/create-job.ts'

/** POST /v1/images/generations */
export function createImage(parts: ImageParts): Operation<'createImage'> {
  return async (call) => {
    const inputs = imageInputs(call, parts.gateway)
    return answerImages(call, { operation: 'generation', inputs }, parts)
  }
}

/** The inputs of the core for a request of the images API. Throws a GatewayError. */
export function imageInputs(
  { body, caller }: Pick<OperationCall<'createImage'>, 'caller'> & { body: ImageBody },
  { find }: Pick<Gateway, 'find'>,
): ImageInputs {
  const models = modelsOf(body, caller, find)
  checkFallbacks(models, true)
  const { stream = false, partial_images: partialImages = 0 } = body
  const watch = stream || partialImages > 0 ? { partialImages } : undefined
  return { request: imageRequest(body), models, watch }
}

type ImageBody = Omit<Body<'createImage'>, 'response_format'> &
  Pick<Partial<Body<'createImageEdit'>>, 'input_fidelity'>

/** The core's request for a body of the images API, where null means absent. */
export function imageRequest(body: ImageBody): ImageRequest {
  const { model, prompt, n, models, size, quality, style, background } = body
  const { moderation, complexity, user } = body
  const named = {
    inputFidelity: body.input_fidelity,
    outputFormat: body.output_format,
    outputCompression: body.output_compression,
    safetyIdentifier: body.safety_identifier || null,
  }
  const plain = { models, size, quality, style, background, moderation, complexity, user }
  return { model, prompt, n, ...prune({ ...plain, ...named }) }
}
