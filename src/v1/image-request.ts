import { given } from '../core/given.ts'
import type { Gateway } from '../core/gateway.ts'
import type { AskedImage } from '../core/image/image.ts'
import type { RouteTable } from '../core/route.ts'
import type { Body } from '../http/operation.ts'

/** The dependencies of the operations of the images API. */
export type ImageOperationOptions = {
  gateway: Gateway
  routes: Pick<RouteTable, 'peek'>
  clock: () => number
}

/** The core's request for a body of the images API, where null means absent. */
export function imageRequest(
  body: Omit<Body<'createImage'>, 'response_format'> &
    Pick<Partial<Body<'createImageEdit'>>, 'input_fidelity'>,
): AskedImage {
  const { model, prompt, n, models, size, quality, style, background } = body
  const { moderation, complexity, user } = body
  const named = {
    inputFidelity: body.input_fidelity,
    outputFormat: body.output_format,
    outputCompression: body.output_compression,
    safetyIdentifier: body.safety_identifier || null,
  }
  const plain = { models, size, quality, style, background, moderation, complexity, user }
  return { model, prompt, n, ...given({ ...plain, ...named }) }
}
