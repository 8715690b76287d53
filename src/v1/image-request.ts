import type { ImageRequest } from '../core/image.ts'
import type { Body } from '../http/operation.ts'

/** A body of the images API in the core's words. OpenAI's clients may send null for what they leave open. */
export function imageRequest(
  body: Omit<Body<'createImage'>, 'response_format'> &
    Pick<Partial<Body<'createImageEdit'>>, 'input_fidelity'>,
  sources: ImageRequest['sources'],
): ImageRequest {
  const { model, prompt, n } = body
  return {
    model,
    prompt,
    n,
    sources,
    ...given('size', body.size),
    ...given('quality', body.quality),
    ...given('style', body.style),
    ...given('background', body.background),
    ...given('inputFidelity', body.input_fidelity),
    ...given('outputFormat', body.output_format),
    ...given('outputCompression', body.output_compression),
    ...given('user', body.user),
  }
}

function given<Key extends keyof ImageRequest>(
  key: Key,
  value: ImageRequest[Key] | null,
): Partial<ImageRequest> {
  return value === null || value === undefined ? {} : { [key]: value }
}
