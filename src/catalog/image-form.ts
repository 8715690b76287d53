import type { ImageFormOf } from '../core/model.ts'
import type { ParametersOf } from './model-parameters.ts'

/** Describes what a request for images may contain, from the row of the model (docs/behaviour.md#what-models-take). */
export function createImageForm(parametersOf: ParametersOf): ImageFormOf {
  return (model) => {
    const { row } = model
    const { image, capabilities } = row
    if (image === undefined) return null
    const target = { model, provider: { id: row.provider }, upstreamModel: row.upstream_model }
    const { reference_images_min: minimum, reference_images_max: maximum } = image
    return {
      operations: [
        ...(capabilities.image_generation ? (['generation'] as const) : []),
        ...(capabilities.image_edit ? (['edit'] as const) : []),
      ],
      parameters: parametersOf(target),
      input_images:
        maximum === 0
          ? null
          : {
              minimum,
              maximum,
              formats: [
                ...pixelFormats,
                ...(row.input_image_heic ? (['heic', 'heif'] as const) : []),
              ],
              side_min: row.input_image_side_min ?? null,
              bytes_max: row.input_image_bytes_max ?? null,
            },
      asynchronous: row.makes_tasks === true,
    }
  }
}

/** Formats of input images that the gateway reads for every model. */
const pixelFormats = ['png', 'jpeg', 'webp'] as const
