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
  const { model, prompt, n } = body
  return {
    model,
    prompt,
    n,
    ...given('models', body.models),
    ...given('size', body.size),
    ...given('quality', body.quality),
    ...given('style', body.style),
    ...given('background', body.background),
    ...given('inputFidelity', body.input_fidelity),
    ...given('outputFormat', body.output_format),
    ...given('outputCompression', body.output_compression),
    ...given('moderation', body.moderation),
    ...given('complexity', body.complexity),
    ...given('user', body.user),
    ...given('safetyIdentifier', body.safety_identifier || null),
  }
}

function given<Key extends keyof AskedImage>(
  key: Key,
  value: AskedImage[Key] | null,
): Partial<AskedImage> {
  return value === null || value === undefined ? {} : { [key]: value }
}
